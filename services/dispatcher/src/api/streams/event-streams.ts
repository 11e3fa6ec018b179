import { pause } from '@parley/shared/every'
import { FairSlots } from '@parley/shared/fair-slots'
import type { Log } from '@parley/shared/log'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import type { Response } from 'express'
import type { Redis } from 'ioredis'
import type { mongo } from 'mongoose'
import { Gauge, type Registry } from 'prom-client'
import { z } from 'zod'
import { type Delta, delta, deltaChannel } from '../../agents/deltas.ts'
import { threadId } from '../../message/thread-record.ts'
import { createChangeFeed } from './change-feed.ts'
import type { ThreadView } from './open-changes.ts'
import type { Position } from './position.ts'
import { type Presence, presence } from './presence.ts'
import { createStreamReader, type Readable, type Scope, type StreamReader } from './reader.ts'

const CONNECT_MS = 500

/** The event streams that are open at this instance. */
export interface EventStreams {
  /**
   * Answers with the events after `from`, until either side ends it, or it gives way to a workspace that has fewer.
   * Throws `too_many_streams` and `unavailable` before it answers.
   */
  open(stream: {
    res: Response
    account: number
    scope: Scope
    readable: Readable
    from: Position | undefined
    /** The caller's `Last-Event-ID` is none of ours. */
    isUnknown: boolean
  }): Promise<void>
  /** Ends all streams: their readers come back to another instance. */
  end(): void
  close(): Promise<void>
}

const LIMITS = { of: 'event streams', total: 5_000, protectedMs: 60_000 }
const BEAT_MS = 15_000

export function createEventStreams(options: {
  db(): mongo.Db | undefined
  connectRedis(): Redis
  database: string
  view: ThreadView
  registry: Registry
  log: Log
}): EventStreams {
  const { db, view, registry, log } = options
  const readers = new Set<StreamReader>()
  const slots = new FairSlots(LIMITS)
  const feed = createChangeFeed({ db, view, log })
  const passing = createPassingFeed({ connect: options.connectRedis, database: options.database })
  let isEnding = false
  showOpen(registry, readers)
  const beats = setInterval(() => {
    feed.mark()
    for (const reader of readers) reader.beat()
  }, BEAT_MS)
  const end = () => {
    isEnding = true
    for (const reader of readers) reader.close()
  }
  const failed = (error: unknown) =>
    log.warn(
      { reason: error instanceof Error ? error.message : 'unknown' },
      'event stream closed: its reader comes back',
    )
  return {
    async open({ res, account, scope, readable, from, isUnknown }) {
      if (isEnding) throw tooMany()
      let reader: StreamReader | undefined
      const key = [scope.workspace, account]
      const release = slots.take(key, () => (reader === undefined ? res.destroy() : reader.close()))
      if (release === undefined)
        throw slots.excess(key) === 'own' ? new Problem('too_many_streams') : tooMany()
      res.once('close', release)
      const begun = await feed.begin(from).catch((error: unknown) => {
        release()
        throw error
      })
      const unfollow = await passing.follow(scope.workspace, (passed) => {
        if (reader !== undefined) offerPassed(reader, passed)
      })
      if (res.destroyed) {
        release()
        return unfollow()
      }
      res.locals.isStream = true
      res.writeHead(200, HEADERS)
      reader = createStreamReader({ res, scope, position: begun.position, readable, failed })
      readers.add(reader)
      const opened = reader
      res.once('close', () => {
        readers.delete(opened)
        unfollow()
      })
      if (begun.isLost || isUnknown) opened.gap(begun.position.key)
      await feed.follow(opened)
    },
    end,
    async close() {
      clearInterval(beats)
      end()
      passing.close()
      await feed.close()
    },
  }
}

const tooMany = (): Problem => new Problem('unavailable', { detail: 'Too many event streams are open.' })

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // For proxies that would gather what is sent, as nginx does.
  'x-accel-buffering': 'no',
}

/** An event that is not stored: a piece of a model's text, or the people of the team who have a thread open. */
const passedOn = z.union([delta, presence])
type Passed = z.output<typeof passedOn>

function offerPassed(reader: StreamReader, passed: Passed): void {
  if ('message' in passed) offerDelta(reader, passed)
  else offerPresence(reader, passed)
}

function offerPresence(reader: StreamReader, { channel, thread, by, isTyping }: Presence): void {
  const id = threadId({ workspace: reader.workspace, channel, extId: thread })
  const data = JSON.stringify({ thread, channel, by, typing: isTyping })
  const subject = { resource: 'threads' as const, id }
  reader.offerPassing({ channel, thread, subject }, { event: 'presence', data })
}

function offerDelta(reader: StreamReader, { message, channel, thread, ...piece }: Delta): void {
  const about = { channel, thread, subject: { resource: 'messages' as const, id: message } }
  const data = JSON.stringify({ message, thread, channel, ...piece })
  reader.offerPassing(about, { event: 'delta', data })
}

function showOpen(registry: Registry, readers: ReadonlySet<unknown>): void {
  new Gauge({
    name: 'parley_event_stream_readers',
    help: 'Event streams that this instance feeds',
    registers: [registry],
    collect() {
      this.set(readers.size)
    },
  })
}

type Listener = (passed: Passed) => void

/** Events that are passed on in the threads of a workspace, from any instance. */
interface PassingFeed {
  /** Resolves once the listener hears it, or Redis does not answer; returns what ends that. */
  follow(workspace: number, listener: Listener): Promise<() => void>
  close(): void
}

/** Subscribes at Redis to the workspaces that have a listener; the connection is made for the first one. */
function createPassingFeed(options: { connect(): Redis; database: string }): PassingFeed {
  const { connect, database } = options
  const listeners = new Map<string, Set<Listener>>()
  let redis: Redis | undefined
  const open = () => {
    const made = connect()
    made.on('message', (channel: string, text: string) => {
      const heard = passedOn.safeParse(jsonOrUndefined(text))
      if (heard.success) for (const listener of listeners.get(channel) ?? []) listener(heard.data)
    })
    // Also after a loss, and for those who came while it was unavailable.
    made.on('ready', () => {
      if (listeners.size > 0) void made.subscribe(...listeners.keys()).catch(() => undefined)
    })
    return made
  }
  const connected = async (): Promise<Redis> => {
    redis ??= open()
    const { promise, resolve } = Promise.withResolvers<void>()
    if (redis.status !== 'ready') {
      redis.once('ready', resolve)
      await Promise.race([promise, pause(CONNECT_MS)])
    }
    return redis
  }
  return {
    async follow(workspace, listener) {
      const channel = deltaChannel(database, workspace)
      const own = listeners.get(channel) ?? new Set()
      listeners.set(channel, own.add(listener))
      if (own.size === 1) await (await connected()).subscribe(channel).catch(() => undefined)
      return () => {
        own.delete(listener)
        if (own.size > 0 || listeners.get(channel) !== own) return
        listeners.delete(channel)
        void redis?.unsubscribe(channel).catch(() => undefined)
      }
    },
    close: () => redis?.disconnect(),
  }
}
