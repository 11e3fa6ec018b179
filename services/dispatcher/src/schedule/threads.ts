import { EventEmitter } from 'node:events'
import type { RunResult } from '../deliver/thread-run.ts'
import { type Calling, callingFrom } from '../deliver/thread-run.ts'
import type { Waiting, WaitingCounts, WaitingFor } from '../message/message-record.ts'
import { type MessageRecord, threadKey } from '../message/message-record.ts'
import { type Limits, ReadyThreads, type RunSlot } from '../round-robin/ready-threads.ts'
import { ChurnMap } from './churn-map.ts'
import { DueQueue, SET_BACK_MS } from './due-queue.ts'
import { MemoryShare } from './memory-share.ts'

/** Which thread of which workspace, or which message of it that others may pass. */
export type ThreadRef = Pick<MessageRecord, 'workspace' | 'thread' | 'lane'>

interface Thread extends ThreadRef {
  key: string
  /** The first open messages, the head in front. */
  queue: MessageRecord[]
  /** The store may have open messages behind those in `queue`. */
  more: boolean
  loading: boolean
  state: 'ready' | 'running' | 'waiting'
  /** Of its first message, as far as it was read. */
  channel: string | undefined
  /** Counts its waits, so that the end of an earlier one is recognised. */
  waits: number
  /** It is to be read from the store, whatever its run says. */
  interrupted: boolean
  /** What it waits for; undefined while it works. */
  waitingFor: Waiting | undefined
  /** When its first message came, or when the thread was met (milliseconds since the epoch). */
  since: number
}

interface ThreadEvents {
  /** These are in memory no more, and to be read from the store. */
  dropped: [MessageRecord[]]
  /** This one waits, and those behind it in its thread with it. */
  waits: [MessageRecord]
  /** Threads of this workspace did not fit in memory, and now they do: wake them all, then call `complete`. */
  room: [workspace: number]
}

export interface Threads extends Pick<EventEmitter<ThreadEvents>, 'on'> {
  /** A message is next in its thread. False when it is not in memory, but to be read from the store. */
  add(record: MessageRecord): boolean
  /** The store has open messages of this thread; its head is not due before `due` (milliseconds). */
  wake(ref: ThreadRef, due?: number, waitingFor?: WaitingFor): void
  /** Something else has changed its messages in the store: it waits no longer for what it waits for. */
  interrupt(ref: ThreadRef): void
  /** Every thread with open messages, or every one of the workspace, has been woken. */
  complete(workspace?: number): void
  /** What the first messages of the threads in memory wait for; one that works is not among them. */
  waiting(): WaitingCounts
  /** How many threads are in memory. */
  count(): number
  /** Starts nothing more; resolves when what is running has ended. */
  stop(): Promise<void>
}

interface ThreadsOptions {
  /** The first `limit` open messages of a thread, in order. */
  load(ref: ThreadRef, limit: number): Promise<MessageRecord[]>
  /** Never rejects. Waits for answers of others by `calling`. */
  run(record: MessageRecord, calling: Calling): Promise<RunResult>
  /** Threads that run concurrently, without those that wait for an answer. */
  concurrency: number
  /** How many partitions the instance works: what a workspace runs beside others is divided among them; one by default. */
  partitions?(): number
  maxThreads?: number
  now?: () => number
}

/**
 * How many threads of one workspace an instance runs while others are active, in all of its partitions. They share its
 * event loop and the database, where each that runs makes what others have just sent wait.
 */
const SHARED_BY_INSTANCE = 16
const LOAD_LIMIT = 20
const LOAD_AGAIN_MS = 1_000
const MAX_RESIDENT_CHARACTERS = 8 * 1024 * 1024
const MAX_THREADS = 100_000

/**
 * Runs threads concurrently, by round robin over workspaces, and each thread's messages one after another. Memory is
 * bounded: of a waiting thread only the head is in it; beyond 8 MiB of bodies or 100,000 threads, and a quarter of
 * that for one workspace, only the store remembers.
 */
export function createThreads(options: ThreadsOptions): Threads {
  return new ThreadRunner(options)
}

class ThreadRunner extends EventEmitter<ThreadEvents> implements Threads {
  readonly #options: ThreadsOptions
  readonly #now: () => number
  readonly #threads = new ChurnMap<string, Thread>()
  readonly #waiting: DueQueue<{ thread: Thread; wait: number }>
  #idle = () => {}
  readonly #ready: ReadyThreads<Thread>
  readonly #memory: MemoryShare
  /** False while the store may have threads that memory doesn't know: then only the store's order counts. */
  #complete = false
  /** The same for single workspaces: threads of these did not fit, or are being read again. */
  readonly #overflowed = new Set<number>()
  readonly #recovering = new Set<number>()
  #stopped = false

  constructor(options: ThreadsOptions) {
    super()
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#waiting = new DueQueue({ now: this.#now, handOut: (ended) => this.#waitOver(ended) })
    const { concurrency, partitions = () => 1 } = options
    this.#ready = new ReadyThreads(limitsOf(concurrency), {
      shared: () => Math.ceil(SHARED_BY_INSTANCE / Math.max(1, partitions())),
    })
    this.#memory = new MemoryShare({
      threads: options.maxThreads ?? MAX_THREADS,
      characters: MAX_RESIDENT_CHARACTERS,
    })
  }

  add(record: MessageRecord): boolean {
    const thread = this.#threads.get(threadKey(record))
    const fits = this.#memory.fits(record.workspace, 'characters')
    if (thread === undefined) {
      const runs = fits && this.#isKnown(record.workspace)
      const started = this.#start(record, runs ? [record] : [])
      if (started !== undefined) this.#makeReady(started)
      return runs && started !== undefined
    }
    if (thread.more || thread.loading || thread.state === 'waiting' || !fits) {
      thread.more = true
      return false
    }
    thread.queue.push(record)
    this.#count(thread, { characters: record.body.length })
    return true
  }

  wake(ref: ThreadRef, due = 0, waitingFor: WaitingFor = 'retry'): void {
    const known = this.#threads.get(threadKey(ref))
    if (known !== undefined) {
      known.more = true
      return
    }
    const thread = this.#start(ref, [])
    if (thread === undefined) return
    if (due > this.#now()) this.#wait(thread, due, waitingFor)
    else this.#makeReady(thread)
  }

  interrupt(ref: ThreadRef): void {
    const known = this.#threads.get(threadKey(ref))
    if (known === undefined) {
      this.wake(ref)
      return
    }
    known.more = true
    if (known.state === 'running') known.interrupted = true
    if (known.state !== 'waiting') return
    this.#retain(known, [])
    this.#makeReady(known)
  }

  complete(workspace?: number): void {
    if (workspace === undefined) this.#complete = true
    else this.#recovering.delete(workspace)
  }

  waiting(): WaitingCounts {
    const counts: WaitingCounts = new Map()
    for (const { waitingFor, since } of this.#threads.values()) {
      if (waitingFor === undefined) continue
      const { messages, oldestAt } = counts.get(waitingFor) ?? { messages: 0, oldestAt: since }
      counts.set(waitingFor, { messages: messages + 1, oldestAt: Math.min(oldestAt, since) })
    }
    return counts
  }

  count(): number {
    return this.#threads.size
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#waiting.stop()
    if (this.#ready.inFlight > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
  }

  #isKnown(workspace: number): boolean {
    return this.#complete && !this.#overflowed.has(workspace) && !this.#recovering.has(workspace)
  }

  #start({ workspace, thread, lane }: ThreadRef, queue: MessageRecord[]): Thread | undefined {
    if (!this.#memory.fits(workspace, 'threads')) {
      this.#overflowed.add(workspace)
      return undefined
    }
    const ref: ThreadRef = { workspace, thread, ...(lane === undefined ? {} : { lane }) }
    const key = threadKey(ref)
    const started: Thread = {
      ...ref,
      key,
      queue,
      more: queue.length === 0,
      loading: false,
      state: 'ready',
      channel: undefined,
      waits: 0,
      interrupted: false,
      waitingFor: undefined,
      since: this.#now(),
    }
    this.#threads.set(key, started)
    this.#count(started, { threads: 1, characters: charactersOf(queue) })
    return started
  }

  #count({ workspace }: Thread, change: Parameters<MemoryShare['change']>[1]): void {
    this.#memory.change(workspace, change)
  }

  #makeReady(thread: Thread, ready?: { isUrgent: boolean }): void {
    const head = thread.queue[0]
    thread.state = 'ready'
    thread.waitingFor = 'turn'
    thread.channel = head?.channel
    if (head !== undefined) thread.since = head.receivedAt.getTime()
    this.#ready.add(thread, ready)
    this.#pump()
  }

  #pump(): void {
    while (!this.#stopped) {
      const next = this.#ready.take()
      if (next === undefined) return
      const { item: thread, slot } = next
      thread.state = 'running'
      thread.waitingFor = undefined
      void this.#runHead(thread, slot).then(() => this.#ended(slot))
    }
  }

  #ended(slot: RunSlot): void {
    slot.end()
    this.#pump()
    if (this.#ready.inFlight === 0) this.#idle()
  }

  /** Runs the thread's head; then it goes to the end of the line, so that a long thread delays nobody. */
  async #runHead(thread: Thread, slot: RunSlot): Promise<void> {
    if (thread.queue.length === 0 && thread.more && !(await this.#load(thread))) {
      return this.#wait(thread, this.#now() + LOAD_AGAIN_MS, 'server')
    }
    const head = thread.queue[0]
    if (head === undefined) return thread.more ? this.#makeReady(thread) : this.#end(thread)
    // Its place was counted without the channel, which is known only now.
    if (thread.channel !== head.channel) return this.#makeReady(thread)
    const calling = callingFrom(slot, (isWaiting) => {
      thread.waitingFor = isWaiting ? 'answer' : undefined
      this.#pump()
    })
    const startedAt = this.#now()
    const result = await this.#options.run(head, calling)
    this.#follow(thread, this.#now() < startedAt - SET_BACK_MS ? withoutTime(result) : result)
  }

  #follow(thread: Thread, result: RunResult): void {
    const { interrupted } = thread
    thread.interrupted = false
    if (interrupted && result.kind !== 'closed' && result.kind !== 'left') {
      this.#retain(thread, [])
      this.#makeReady(thread)
    } else if (result.kind === 'closed' || result.kind === 'left') {
      if (result.kind === 'left') this.wake(ownRef(thread, result.lane), result.at, result.for)
      this.#count(thread, { characters: -(thread.queue.shift()?.body.length ?? 0) })
      if (thread.queue.length > 0 || thread.more) this.#makeReady(thread)
      else this.#end(thread)
    } else if (result.kind === 'wait') {
      this.#retainHead(thread, result.record)
      this.#wait(thread, result.until, result.for)
    } else if (result.kind === 'pending') {
      this.#retainHead(thread, result.record)
      this.#markWaiting(thread, result.for)
      const wait = thread.waits
      // What a call brought is in memory alone until it is stored.
      void result.settled.then(() => this.#waitOver({ thread, wait }, { isUrgent: true }))
    } else {
      this.#retain(thread, [])
      this.#wait(thread, result.at, result.for)
    }
  }

  #retainHead(thread: Thread, head: MessageRecord): void {
    this.emit('waits', head)
    this.#retain(thread, this.#memory.fits(thread.workspace, 'characters') ? [head] : [])
  }

  /** Retains only `queue` of the thread in memory; the rest is read again when it is needed. */
  #retain(thread: Thread, queue: MessageRecord[]): void {
    this.#count(thread, { characters: charactersOf(queue) - charactersOf(thread.queue) })
    thread.more ||= queue.length === 0 || thread.queue.length > queue.length
    const dropped = thread.queue.slice(queue.length)
    thread.queue = queue
    if (dropped.length > 0) this.emit('dropped', dropped)
  }

  async #load(thread: Thread): Promise<boolean> {
    // What is added while the store is read may be missing from the answer, and sets `more` again.
    thread.more = false
    thread.loading = true
    const limit = this.#memory.fits(thread.workspace, 'characters') ? LOAD_LIMIT : 1
    const records = await this.#options.load(thread, limit).catch(() => undefined)
    thread.loading = false
    if (records === undefined) {
      thread.more = true
      return false
    }
    thread.more ||= records.length === limit
    thread.queue = records
    this.#count(thread, { characters: charactersOf(records) })
    return true
  }

  #wait(thread: Thread, due: number, waitingFor: WaitingFor = 'retry'): void {
    this.#markWaiting(thread, waitingFor)
    this.#waiting.push({ thread, wait: thread.waits }, due)
  }

  /** It may have been interrupted, and wait again. */
  #waitOver({ thread, wait }: { thread: Thread; wait: number }, ready?: { isUrgent: boolean }): void {
    if (thread.state === 'waiting' && thread.waits === wait) this.#makeReady(thread, ready)
  }

  #markWaiting(thread: Thread, waitingFor: WaitingFor): void {
    thread.state = 'waiting'
    thread.waits++
    thread.waitingFor = waitingFor
    const head = thread.queue[0]
    if (head !== undefined) thread.since = head.receivedAt.getTime()
  }

  #end(thread: Thread): void {
    this.#threads.delete(thread.key)
    this.#count(thread, { threads: -1 })
    this.#recoverNext(thread.workspace)
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
      this.emit('room', workspace)
    }
  }
}

/**
 * One workspace has at most three quarters of what runs at once, one channel five eighths. Of those that wait for an
 * answer, each of which has a socket and a message in memory, there may be three times as many.
 */
function limitsOf(concurrency: number): { running: Limits; waiting: Limits } {
  const part = (share: number) => Math.ceil(concurrency * share)
  return {
    running: { all: concurrency, workspace: part(0.75), channel: part(0.625) },
    waiting: { all: concurrency * 3, workspace: concurrency, channel: part(0.75) },
  }
}

/** A time by a clock that was set back since would be waited for until it comes again: it is looked at at once. */
function withoutTime(result: RunResult): RunResult {
  if (result.kind === 'wait') return { ...result, until: 0 }
  return result.kind === 'reload' || result.kind === 'left' ? { ...result, at: 0 } : result
}

function charactersOf(records: MessageRecord[]): number {
  return records.reduce((sum, { body }) => sum + body.length, 0)
}

function ownRef({ workspace, thread }: ThreadRef, lane: string): ThreadRef {
  return { workspace, thread, lane }
}
