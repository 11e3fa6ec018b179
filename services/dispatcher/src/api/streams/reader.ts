import type { ServerResponse } from 'node:http'
import type { StreamEvent } from './change.ts'
import type { FeedReader } from './change-feed.ts'
import { idOf, markOf, type Position } from './position.ts'

/** A document that an event is about, and that its reader has to be allowed to read. */
export interface Subject {
  resource: 'messages' | 'threads'
  id: unknown
}

/** Which documents a caller may read. */
export interface Readable {
  /** `some`: each document is asked for. */
  kindOf(resource: Subject['resource']): 'all' | 'some' | 'none'
  /** Those of the ids that may be read now. */
  among(resource: Subject['resource'], ids: unknown[]): Promise<Set<unknown>>
}

/** The scope of an event stream: a workspace, or one of its threads. */
export interface Scope {
  workspace: number
  thread?: string
  /** Of the thread, where it is known. */
  channel?: string
}

export interface StreamReader extends FeedReader {
  readonly scope: Scope
  /** An event without an id: it is not repeated to whoever comes back. */
  offerPassing(about: { channel: string; thread: string; subject: Subject }, event: StreamEvent): void
  /** Shows that the connection is there. */
  beat(): void
}

interface Outgoing {
  text: string
  subject: Subject
}

const MAX_BUFFERED_BYTES = 256 * 1024
/** The most bytes of earlier events in the buffer, which leave room for events that come meanwhile. */
const FULL_BYTES = MAX_BUFFERED_BYTES / 2
const MAX_WAITING = 5_000
const ASKED_AT_ONCE = 500
const DRAIN_MS = 10_000
const RETRY_HINT_MS = 1_000

/**
 * Writes events to a response, in the order in which they are offered. A reader whose connection has more than 256 KiB
 * buffered is closed. Where its role reads only some documents, the database is asked which, for all that wait together.
 */
export function createStreamReader(options: {
  res: ServerResponse
  scope: Scope
  position: Position
  readable: Readable
  failed(error: unknown): void
}): StreamReader {
  const { res, scope, readable, failed } = options
  const waiting: Outgoing[] = []
  let isAsking = false
  let marked = options.position.key
  const isClosed = () => res.destroyed || res.writableEnded
  const isInScope = ({ channel, thread }: { channel: string; thread: string }) =>
    (scope.thread === undefined || scope.thread === thread) &&
    (scope.channel === undefined || scope.channel === channel)
  const write = (text: string) => {
    if (isClosed()) return
    res.write(text)
    if (res.writableLength > MAX_BUFFERED_BYTES) res.destroy()
  }
  const ask = async () => {
    isAsking = true
    while (waiting.length > 0 && !isClosed()) {
      const batch = waiting.splice(0, ASKED_AT_ONCE)
      const isReadable = await readableAmong(batch, readable)
      write(
        batch
          .filter(isReadable)
          .map(({ text }) => text)
          .join(''),
      )
    }
    isAsking = false
  }
  const send = (outgoing: Outgoing) => {
    const kind = readable.kindOf(outgoing.subject.resource)
    if (kind === 'none') return
    if (kind === 'all' && waiting.length === 0 && !isAsking) return write(outgoing.text)
    waiting.push(outgoing)
    if (waiting.length > MAX_WAITING) res.destroy()
    else if (!isAsking)
      ask().catch((error: unknown) => {
        failed(error)
        res.destroy()
      })
  }
  const reader: StreamReader = {
    scope,
    workspace: scope.workspace,
    position: options.position,
    offer({ key, resource, id, channel, thread, events }, from) {
      if (!isInScope({ channel, thread })) return
      marked = key
      for (let at = from; at < events.length; at++) {
        const place = at === events.length - 1 ? { key } : { key, seen: at + 1 }
        send({ text: textOf(events[at] as StreamEvent, idOf(place)), subject: { resource, id } })
      }
    },
    offerPassing(about, event) {
      if (isInScope(about)) send({ text: textOf(event), subject: about.subject })
    },
    gap(key) {
      marked = key
      write(
        `event: gap\nid: ${key}\ndata: {"reason":"What happened meanwhile can not be read any more."}\n\n`,
      )
    },
    moveOn(key) {
      // The change there may be one of another workspace, whose token is not for this reader.
      const mark = markOf(key)
      if (mark <= marked || waiting.length > 0 || isAsking) return
      marked = mark
      write(`id: ${mark}\n\n`)
    },
    beat: () => write(':\n\n'),
    isFull: () => res.writableLength > FULL_BYTES || waiting.length > MAX_WAITING / 2,
    drained: () => drained(res, () => !reader.isFull()),
    isClosed,
    close: () => void res.end(),
  }
  write(`retry: ${RETRY_HINT_MS}\nid: ${idOf(options.position)}\n\n`)
  return reader
}

function textOf({ event, data }: StreamEvent, id?: string): string {
  return id === undefined
    ? `event: ${event}\ndata: ${data}\n\n`
    : `event: ${event}\nid: ${id}\ndata: ${data}\n\n`
}

async function readableAmong(
  batch: Outgoing[],
  readable: Readable,
): Promise<(outgoing: Outgoing) => boolean> {
  const ids = { messages: new Set<unknown>(), threads: new Set<unknown>() }
  for (const { subject } of batch)
    if (readable.kindOf(subject.resource) === 'some') ids[subject.resource].add(subject.id)
  const found = {
    messages: ids.messages.size === 0 ? undefined : await readable.among('messages', [...ids.messages]),
    threads: ids.threads.size === 0 ? undefined : await readable.among('threads', [...ids.threads]),
  }
  return ({ subject: { resource, id } }) => found[resource]?.has(id) ?? true
}

const LOOK_MS = 20

async function drained(res: ServerResponse, hasRoom: () => boolean): Promise<void> {
  const deadline = performance.now() + DRAIN_MS
  while (!res.destroyed && !hasRoom()) {
    if (performance.now() > deadline) return void res.destroy()
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}
