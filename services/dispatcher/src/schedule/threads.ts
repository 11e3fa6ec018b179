import { EventEmitter } from 'node:events'
import type { RunResult } from '../deliver/thread-run.ts'
import { type Calling, callingFrom } from '../deliver/thread-run.ts'
import type { MessageRecord, WaitingCounts, WaitingFor } from '../message/message-record.ts'
import { type Limits, ReadyThreads, type RunSlot } from '../round-robin/ready-threads.ts'
import { DueQueue, SET_BACK_MS } from './due-queue.ts'
import { ResidentThreads, type Thread, type ThreadRef } from './resident-threads.ts'

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
  /** The store has open messages of this thread; its head, where that is known, is not due before `due` (milliseconds). */
  wake(ref: ThreadRef & { _id?: string }, due?: number, waitingFor?: WaitingFor): void
  /** Something else has changed its messages in the store: it waits no longer for what it waits for. */
  interrupt(ref: ThreadRef): void
  /** Every thread with open messages, or every one of the workspace, has been woken. */
  complete(workspace?: number): void
  /** Returns the conditions that the first messages of the threads in memory wait for; without messages that work. */
  waiting(): WaitingCounts
  /** How many threads are in memory. */
  count(): number
  /** Starts nothing more; resolves when what is running has ended, also when it is called again. */
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
const SHARED_BY_INSTANCE = 64
const LOAD_AGAIN_MS = 1_000

/**
 * Runs threads concurrently, by round robin over workspaces, and each thread's messages one after another. Of a thread
 * that waits only the head is in memory, which is bounded as {@link ResidentThreads} says.
 */
export function createThreads(options: ThreadsOptions): Threads {
  return new ThreadRunner(options)
}

class ThreadRunner extends EventEmitter<ThreadEvents> implements Threads {
  readonly #options: ThreadsOptions
  readonly #now: () => number
  readonly #threads: ResidentThreads
  readonly #waiting: DueQueue<{ thread: Thread; wait: number }>
  readonly #idle = Promise.withResolvers<void>()
  readonly #ready: ReadyThreads<Thread>
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
    this.#threads = new ResidentThreads({
      load: options.load,
      maxThreads: options.maxThreads,
      now: this.#now,
      dropped: (records) => this.emit('dropped', records),
      room: (workspace) => this.emit('room', workspace),
      vanished: (lane) => this.wake(lane),
    })
  }

  add(record: MessageRecord): boolean {
    const thread = this.#threads.get(record)
    const fits = this.#threads.fits(record.workspace)
    if (thread === undefined) {
      const runs = fits && this.#threads.isKnown(record.workspace)
      const started = this.#threads.start(record, runs ? [record] : [])
      if (started !== undefined) this.#makeReady(started)
      return runs && started !== undefined
    }
    if (thread.more || thread.loading || thread.state === 'waiting' || !fits) {
      thread.more = true
      return false
    }
    this.#threads.push(thread, record)
    return true
  }

  wake(ref: ThreadRef & { _id?: string }, due = 0, waitingFor: WaitingFor = 'retry'): void {
    const known = this.#threads.get(ref)
    if (known !== undefined) {
      known.more = true
      return
    }
    const thread = this.#threads.start(ref, [], ref._id)
    if (thread === undefined) return
    if (due > this.#now()) this.#wait(thread, due, waitingFor)
    else this.#makeReady(thread)
  }

  interrupt(ref: ThreadRef): void {
    const known = this.#threads.get(ref)
    if (known === undefined) {
      this.wake(ref)
      return
    }
    known.more = true
    if (known.state === 'running') known.interrupted = true
    else this.#threads.retain(known, [])
    if (known.state === 'waiting') this.#makeReady(known)
  }

  complete(workspace?: number): void {
    this.#threads.complete(workspace)
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

  stop(): Promise<void> {
    this.#stopped = true
    this.#waiting.stop()
    if (this.#ready.inFlight === 0) this.#idle.resolve()
    return this.#idle.promise
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
    if (this.#stopped && this.#ready.inFlight === 0) this.#idle.resolve()
  }

  /** Runs the thread's head; then it goes to the end of the line, so that a long thread delays nobody. */
  async #runHead(thread: Thread, slot: RunSlot): Promise<void> {
    if (thread.queue.length === 0 && thread.more && !(await this.#threads.load(thread))) {
      return this.#wait(thread, this.#now() + LOAD_AGAIN_MS, 'server')
    }
    const head = thread.queue[0]
    if (head === undefined) return thread.more ? this.#makeReady(thread) : this.#threads.end(thread)
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
      this.#threads.retain(thread, [])
      this.#makeReady(thread)
    } else if (result.kind === 'closed' || result.kind === 'left') {
      if (result.kind === 'left') this.wake(ownRef(thread, result.lane), result.at, result.for)
      this.#threads.shift(thread)
      if (interrupted) this.#threads.retain(thread, [])
      if (thread.queue.length > 0 || thread.more) this.#makeReady(thread)
      else this.#threads.end(thread)
    } else if (result.kind === 'wait') {
      this.#retainHead(thread, result.record)
      this.#wait(thread, result.until, result.for)
    } else if (result.kind === 'pending') {
      this.#retainHead(thread, result.record)
      this.#markWaiting(thread, result.for)
      const wait = thread.waits
      // The result of a call is in memory alone until it is stored.
      void result.settled.then(() => this.#waitOver({ thread, wait }, { isUrgent: true }))
    } else {
      this.#threads.retain(thread, [])
      this.#wait(thread, result.at, result.for)
    }
  }

  #retainHead(thread: Thread, head: MessageRecord): void {
    this.emit('waits', head)
    this.#threads.retainHead(thread, head)
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

function ownRef({ workspace, thread }: ThreadRef, lane: string): ThreadRef {
  return { workspace, thread, lane }
}
