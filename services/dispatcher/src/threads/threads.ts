import TinyQueue from 'tinyqueue'
import { ChurnMap } from '../churn-map.ts'
import { type MessageRecord, threadKey } from '../message-record.ts'
import type { RunResult } from '../run-result.ts'
import { Fifo } from './fifo.ts'

/** Which thread of which workspace, or which lane beside it. */
export type ThreadRef = Pick<MessageRecord, 'workspace' | 'thread' | 'lane'>

interface Thread extends ThreadRef {
  key: string
  /** The first open messages, the head in front. */
  queue: MessageRecord[]
  /** The store may hold open messages behind those in `queue`. */
  more: boolean
  loading: boolean
  state: 'ready' | 'running' | 'waiting'
}

export interface Threads {
  /** A message is next in its thread. False when it is not held in memory, but to be read from the store. */
  add(record: MessageRecord): boolean
  /** The store holds open messages of this thread; its head is not due before `due` (milliseconds). */
  wake(ref: ThreadRef, due?: number): void
  /** Every thread with open messages has been woken. */
  complete(): void
  /** Starts nothing more; resolves when what is running has ended. */
  stop(): Promise<void>
}

interface ThreadsOptions {
  /** The first `limit` open messages of a thread, in order. */
  load(ref: ThreadRef, limit: number): Promise<MessageRecord[]>
  /** Never rejects. */
  run(record: MessageRecord): Promise<RunResult>
  /** These are in memory no more, and to be read from the store. */
  dropped?(records: MessageRecord[]): void
  /** Wakes every thread with open messages again, then calls `complete`: some did not fit in memory. */
  recover(): void
  /** Threads run side by side. */
  concurrency: number
  maxThreads?: number
  now?: () => number
}

const LOAD_LIMIT = 20
const LOAD_AGAIN_MS = 1_000
const MAX_RESIDENT_CHARACTERS = 8 * 1024 * 1024
const MAX_THREADS = 100_000
const MAX_TIMER_MS = 10_000
/** A clock that goes back by more was set; what is due by it would wait for that time to pass once more. */
const SET_BACK_MS = 1_000

/**
 * Runs threads side by side and each thread's messages one after another. Memory is bounded: of a waiting thread
 * only the head is held, beyond 8 MiB of bodies or 100,000 threads only the store remembers.
 */
export function createThreads(options: ThreadsOptions): Threads {
  return new ThreadRunner(options)
}

class ThreadRunner implements Threads {
  readonly #options: ThreadsOptions
  readonly #now: () => number
  /** What the clock last said. */
  #latest = 0
  readonly #maxThreads: number
  readonly #threads = new ChurnMap<string, Thread>()
  readonly #waiting = new TinyQueue<{ due: number; thread: Thread }>([], (a, b) => a.due - b.due)
  #running = 0
  #idle = () => {}
  readonly #ready = new Fifo<Thread>()
  #resident = 0
  /** False while the store may hold threads that memory doesn't know: then only the store's order counts. */
  #known = false
  #overflowed = false
  #stopped = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: ThreadsOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#maxThreads = options.maxThreads ?? MAX_THREADS
  }

  add(record: MessageRecord): boolean {
    const thread = this.#threads.get(threadKey(record))
    if (thread === undefined) {
      const fits = this.#known && this.#resident < MAX_RESIDENT_CHARACTERS
      const started = this.#start(record, fits ? [record] : [])
      if (started !== undefined) this.#makeReady(started)
      return fits && started !== undefined
    }
    if (
      thread.more ||
      thread.loading ||
      thread.state === 'waiting' ||
      this.#resident >= MAX_RESIDENT_CHARACTERS
    ) {
      thread.more = true
      return false
    }
    thread.queue.push(record)
    this.#resident += record.body.length
    return true
  }

  wake(ref: ThreadRef, due = 0): void {
    const known = this.#threads.get(threadKey(ref))
    if (known !== undefined) {
      known.more = true
      return
    }
    const thread = this.#start(ref, [])
    if (thread === undefined) return
    if (due > this.#now()) this.#wait(thread, due)
    else this.#makeReady(thread)
  }

  complete(): void {
    this.#known = !this.#overflowed
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
  }

  #start({ workspace, thread, lane }: ThreadRef, queue: MessageRecord[]): Thread | undefined {
    if (this.#threads.size >= this.#maxThreads) {
      this.#known = false
      this.#overflowed = true
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
    }
    this.#threads.set(key, started)
    this.#resident += charactersOf(queue)
    return started
  }

  #makeReady(thread: Thread): void {
    thread.state = 'ready'
    this.#ready.push(thread)
    this.#pump()
  }

  #pump(): void {
    while (!this.#stopped && this.#running < this.#options.concurrency) {
      const thread = this.#ready.take()
      if (thread === undefined) return
      thread.state = 'running'
      this.#running++
      void this.#runHead(thread).then(this.#ended)
    }
  }

  readonly #ended = () => {
    this.#running--
    this.#pump()
    if (this.#running === 0) this.#idle()
  }

  /** Runs the thread's head; then it goes to the end of the line, so that a long thread holds nobody up. */
  async #runHead(thread: Thread): Promise<void> {
    if (thread.queue.length === 0 && thread.more && !(await this.#load(thread))) {
      return this.#wait(thread, this.#now() + LOAD_AGAIN_MS)
    }
    const head = thread.queue[0]
    if (head === undefined) return thread.more ? this.#makeReady(thread) : this.#end(thread)
    this.#follow(thread, await this.#options.run(head))
  }

  #follow(thread: Thread, result: RunResult): void {
    if (result.kind === 'closed' || result.kind === 'left') {
      if (result.kind === 'left') this.wake(laneOf(thread, result.lane), result.at)
      this.#resident -= thread.queue.shift()?.body.length ?? 0
      if (thread.queue.length > 0 || thread.more) this.#makeReady(thread)
      else this.#end(thread)
    } else if (result.kind === 'wait') {
      this.#keep(thread, [result.record])
      this.#wait(thread, result.until)
    } else {
      this.#keep(thread, [])
      this.#wait(thread, result.at)
    }
  }

  /** Holds only `queue` of the thread in memory; the rest is read again when it is needed. */
  #keep(thread: Thread, queue: MessageRecord[]): void {
    this.#resident += charactersOf(queue) - charactersOf(thread.queue)
    thread.more ||= queue.length === 0 || thread.queue.length > queue.length
    const dropped = thread.queue.slice(queue.length)
    thread.queue = queue
    if (dropped.length > 0) this.#options.dropped?.(dropped)
  }

  async #load(thread: Thread): Promise<boolean> {
    // What is added while the store is read may be missing from the answer, and sets `more` again.
    thread.more = false
    thread.loading = true
    const records = await this.#options.load(thread, LOAD_LIMIT).catch(() => undefined)
    thread.loading = false
    if (records === undefined) {
      thread.more = true
      return false
    }
    thread.more ||= records.length === LOAD_LIMIT
    thread.queue = records
    this.#resident += charactersOf(records)
    return true
  }

  #wait(thread: Thread, due: number): void {
    thread.state = 'waiting'
    this.#waiting.push({ due, thread })
    this.#setTimer()
  }

  #setTimer(): void {
    clearTimeout(this.#timer)
    const next = this.#waiting.peek()
    if (next === undefined || this.#stopped) return
    const now = this.#now()
    const delay = this.#wasSetBack(now) ? 0 : Math.min(Math.max(0, next.due - now), MAX_TIMER_MS)
    this.#timer = setTimeout(() => this.#wakeDue(), delay)
  }

  /** Those that are due; all of them when the clock was set back. */
  #wakeDue(): void {
    const now = this.#now()
    const until = this.#wasSetBack(now) ? Number.POSITIVE_INFINITY : now
    this.#latest = now
    for (
      let next = this.#waiting.peek();
      next !== undefined && next.due <= until;
      next = this.#waiting.peek()
    ) {
      this.#waiting.pop()
      this.#makeReady(next.thread)
    }
    this.#setTimer()
  }

  #wasSetBack(now: number): boolean {
    if (now < this.#latest - SET_BACK_MS) return true
    this.#latest = now
    return false
  }

  #end(thread: Thread): void {
    this.#threads.delete(thread.key)
    if (!this.#overflowed || this.#threads.size > this.#maxThreads / 2) return
    this.#overflowed = false
    this.#options.recover()
  }
}

function charactersOf(records: MessageRecord[]): number {
  return records.reduce((sum, { body }) => sum + body.length, 0)
}

function laneOf({ workspace, thread }: ThreadRef, lane: string): ThreadRef {
  return { workspace, thread, lane }
}
