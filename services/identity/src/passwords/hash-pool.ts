import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { Problem } from '@parley/shared/problem'

/** What a worker does: hash at a cost, or compare with a hash. The input is 72 bytes at most. */
export type HashTask = { input: string; cost: number } | { input: string; hash: string }

interface Job {
  task: HashTask
  /** When it came, on the clock of `performance.now()`. */
  since: number
  resolve(answer: string | boolean): void
  reject(error: Error): void
}

const MAX_WORKERS = 4
// About 15 s of work at the usual cost on one worker.
const MAX_WAITING = 256
// Below the time after which the gateway gives up.
const MAX_WAIT_MS = 20_000

/** Runs bcrypt in worker threads, with one core left free for the event loop where there are two or more. */
export class HashPool {
  readonly #workers = new Map<Worker, Job | undefined>()
  readonly #waiting: Job[] = []
  #closed = false

  constructor() {
    const size = Math.min(MAX_WORKERS, Math.max(1, availableParallelism() - 1))
    for (let i = 0; i < size; i++) this.#addWorker()
  }

  /** How many wait for a worker. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** The bcrypt hash of `input`. Throws `unavailable` when 256 wait, or after 20 s. */
  async hash(input: string, cost: number): Promise<string> {
    return String(await this.#run({ input, cost }))
  }

  /** Whether `input` has that hash. Throws `unavailable` when 256 wait, or after 20 s. */
  async compare(input: string, hash: string): Promise<boolean> {
    return (await this.#run({ input, hash })) === true
  }

  /** Ends the workers; what they were at, and what waits, is rejected. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#workers.keys()].map((worker) => worker.terminate()))
    for (const job of this.#waiting.splice(0)) job.reject(new Error('the pool is closed'))
  }

  #run(task: HashTask): Promise<string | boolean> {
    return new Promise((resolve, reject) => {
      if (this.#closed || this.#waiting.length >= MAX_WAITING) return reject(overloaded())
      this.#waiting.push({ task, since: performance.now(), resolve, reject })
      this.#assign()
    })
  }

  #assign(): void {
    for (const [worker, job] of this.#workers) {
      if (job !== undefined) continue
      const next = this.#next()
      if (next === undefined) return
      this.#workers.set(worker, next)
      worker.postMessage(next.task)
    }
  }

  /** The job that has waited longest, after those that have waited too long. */
  #next(): Job | undefined {
    const oldest = performance.now() - MAX_WAIT_MS
    let job = this.#waiting.shift()
    for (; job !== undefined && job.since < oldest; job = this.#waiting.shift()) job.reject(overloaded())
    return job
  }

  #addWorker(): void {
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url))
    this.#workers.set(worker, undefined)
    worker.on('message', (answer: string | boolean) => {
      this.#finish(worker, (job) => job.resolve(answer))
      this.#assign()
    })
    worker.on('error', (error: Error) => this.#finish(worker, (job) => job.reject(error)))
    worker.on('exit', () => {
      this.#finish(worker, (job) => job.reject(new Error('the worker ended')))
      this.#workers.delete(worker)
      if (this.#closed) return
      this.#addWorker()
      this.#assign()
    })
  }

  #finish(worker: Worker, end: (job: Job) => void): void {
    const job = this.#workers.get(worker)
    this.#workers.set(worker, undefined)
    if (job !== undefined) end(job)
  }
}

function overloaded(): Problem {
  return new Problem('unavailable', { detail: 'Too many passwords are being checked.' })
}
