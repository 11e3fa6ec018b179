import { defined } from '@parley/shared/defined'
import type { Waiting } from '../message/message-record.ts'
import { type MessageRecord, threadKey } from '../message/message-record.ts'
import { ChurnMap } from './churn-map.ts'
import { MemoryShare } from './memory-share.ts'

const LOAD_LIMIT = 20
const MAX_RESIDENT_CHARACTERS = 8 * 1024 * 1024
const MAX_THREADS = 100_000

/** Which thread of which workspace, or which message of it that others may pass. */
export type ThreadRef = Pick<MessageRecord, 'workspace' | 'thread' | 'lane'>

/** A thread with open messages, in memory. */
export interface Thread extends ThreadRef {
  key: string
  /** The first open messages, the head in front. */
  queue: MessageRecord[]
  /** The store may have open messages behind those in `queue`. */
  more: boolean
  loading: boolean
  /** The message that was its head when it was last known: another instance may make it a thread of its own meanwhile. */
  soughtId: string | undefined
  state: 'ready' | 'running' | 'waiting'
  /** Of its first message, as far as it was read. */
  channel: string | undefined
  /** Counts its waits, so that the end of an earlier one is recognised. */
  waits: number
  /** It is to be read from the store, whatever its run says. */
  interrupted: boolean
  /** The condition that it waits for; undefined while it works. */
  waitingFor: Waiting | undefined
  /** When its first message came, or when the thread was met (milliseconds since the epoch). */
  since: number
}

interface ResidentOptions {
  /** The first `limit` open messages of a thread, in order. */
  load(ref: ThreadRef, limit: number): Promise<MessageRecord[]>
  /** How many threads there may be; 100,000 by default. */
  maxThreads?: number | undefined
  now(): number
  /** These are in memory no more, and to be read from the store. */
  dropped(records: MessageRecord[]): void
  /** Threads of this workspace did not fit, and now they do: start them all, then call `complete`. */
  room(workspace: number): void
  /** The former head of a thread is not in it any more. It may have ended, or it may be a thread of its own. */
  vanished(lane: ThreadRef): void
}

/**
 * The threads in memory. It is bounded: beyond 8 MiB of bodies or `maxThreads` threads, and a quarter of that for one
 * workspace, only the store remembers.
 */
export class ResidentThreads {
  readonly #options: ResidentOptions
  readonly #threads = new ChurnMap<string, Thread>()
  readonly #memory: MemoryShare
  /** False while the store may have threads that memory doesn't know: then only the store's order counts. */
  #complete = false
  /** The same for single workspaces: threads of these did not fit, or are being read again. */
  readonly #overflowed = new Set<number>()
  readonly #recovering = new Set<number>()

  constructor(options: ResidentOptions) {
    this.#options = options
    const { maxThreads = MAX_THREADS } = options
    this.#memory = new MemoryShare({ threads: maxThreads, characters: MAX_RESIDENT_CHARACTERS })
  }

  get size(): number {
    return this.#threads.size
  }

  get(ref: ThreadRef): Thread | undefined {
    return this.#threads.get(threadKey(ref))
  }

  values(): Iterable<Thread> {
    return this.#threads.values()
  }

  /** True if another message of this workspace fits. */
  fits(workspace: number): boolean {
    return this.#memory.fits(workspace, 'characters')
  }

  /** True if every thread of this workspace that has open messages is in memory. */
  isKnown(workspace: number): boolean {
    return this.#complete && !this.#overflowed.has(workspace) && !this.#recovering.has(workspace)
  }

  /** Every thread with open messages, or every one of the workspace, has been started. */
  complete(workspace?: number): void {
    if (workspace === undefined) this.#complete = true
    else this.#recovering.delete(workspace)
  }

  /** Begins a thread with these messages, or with what the store has; undefined when it does not fit. */
  start(
    { workspace, thread, lane }: ThreadRef,
    queue: MessageRecord[],
    soughtId?: string,
  ): Thread | undefined {
    if (!this.#memory.fits(workspace, 'threads')) {
      this.#overflowed.add(workspace)
      return undefined
    }
    const ref: ThreadRef = { workspace, thread, ...defined({ lane }) }
    const key = threadKey(ref)
    const started: Thread = {
      ...ref,
      key,
      queue,
      more: queue.length === 0,
      loading: false,
      soughtId,
      state: 'ready',
      channel: undefined,
      waits: 0,
      interrupted: false,
      waitingFor: undefined,
      since: this.#options.now(),
    }
    this.#threads.set(key, started)
    this.#memory.change(workspace, { threads: 1, characters: charactersOf(queue) })
    return started
  }

  /** Puts a message behind the others of the thread. */
  push(thread: Thread, record: MessageRecord): void {
    thread.queue.push(record)
    this.#count(thread, record.body.length)
  }

  /** Takes the thread's head away. */
  shift(thread: Thread): void {
    this.#count(thread, -(thread.queue.shift()?.body.length ?? 0))
  }

  /** Retains only the head while the thread waits, and it only where it fits. */
  retainHead(thread: Thread, head: MessageRecord): void {
    this.retain(thread, this.fits(thread.workspace) ? [head] : [])
  }

  /** Retains only `queue` of the thread; the rest is read again when it is needed. */
  retain(thread: Thread, queue: MessageRecord[]): void {
    this.#count(thread, charactersOf(queue) - charactersOf(thread.queue))
    thread.more ||= queue.length === 0 || thread.queue.length > queue.length
    const dropped = thread.queue.slice(queue.length)
    if (queue.length === 0) thread.soughtId = thread.queue[0]?._id ?? thread.soughtId
    thread.queue = queue
    if (dropped.length > 0) this.#options.dropped(dropped)
  }

  /** Reads the thread's first messages from the store; false when it does not answer. */
  async load(thread: Thread): Promise<boolean> {
    // Messages that are added while the store is read may be missing from the answer, and set `more` again.
    thread.more = false
    thread.loading = true
    const limit = this.fits(thread.workspace) ? LOAD_LIMIT : 1
    const records = await this.#options.load(thread, limit).catch(() => undefined)
    thread.loading = false
    if (records === undefined) {
      thread.more = true
      return false
    }
    thread.more ||= records.length === limit
    thread.queue = records
    this.#count(thread, charactersOf(records))
    this.#reportVanished(thread)
    return true
  }

  /** An instance that lost the lease may still write how its last send ended, and that others may pass the message. */
  #reportVanished(thread: Thread): void {
    const { workspace, thread: name, lane, soughtId, queue } = thread
    thread.soughtId = undefined
    if (soughtId === undefined || lane !== undefined || queue.some(({ _id }) => _id === soughtId)) return
    this.#options.vanished({ workspace, thread: name, lane: soughtId })
  }

  /** The thread has no open messages any more. */
  end({ key, workspace }: Thread): void {
    this.#threads.delete(key)
    this.#memory.change(workspace, { threads: -1 })
    this.#recoverNext(workspace)
  }

  #count({ workspace }: Thread, characters: number): void {
    this.#memory.change(workspace, { characters })
  }

  /** Reads on where one workspace has room again: the one whose thread ended, or the one that waits longest. */
  #recoverNext(ended: number): void {
    const [first] = this.#overflowed
    for (const workspace of [ended, first]) {
      if (workspace === undefined || !this.#overflowed.delete(workspace)) continue
      if (!this.#memory.isHalfFree(workspace)) {
        this.#overflowed.add(workspace)
        continue
      }
      this.#recovering.add(workspace)
      this.#options.room(workspace)
    }
  }
}

function charactersOf(records: MessageRecord[]): number {
  return records.reduce((sum, { body }) => sum + body.length, 0)
}
