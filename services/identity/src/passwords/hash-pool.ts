import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { Problem } from '@parley/shared/problem'

/** What a worker does: hash at a cost, or compare with a hash. The input is 72 bytes at most. */
export type HashTask = { input: string; cost: number } | { input: string; hash: string }

export interface HashPool {
  /** The bcrypt hash of `input`. Throws `unavailable` when too many wait already. */
  hash(input: string, cost: number): Promise<string>
  /** Whether `input` has that hash. Throws `unavailable` when too many wait already. */
  compare(input: string, hash: string): Promise<boolean>
  close(): Promise<void>
}

interface Job {
  task: HashTask
  resolve(answer: string | boolean): void
  reject(error: Error): void
}

const MAX_WORKERS = 4
// About 15 s of work at the usual cost on one worker.
const MAX_WAITING = 256

/** Runs bcrypt in worker threads, one core left free for the event loop where there are two or more. */
export function createHashPool(): HashPool {
  const size = Math.min(MAX_WORKERS, Math.max(1, availableParallelism() - 1))
  const waiting: Job[] = []
  const idle: Worker[] = []
  const busy = new Map<Worker, Job>()
  let closed = false

  const next = () => {
    while (waiting.length > 0 && idle.length > 0) start(idle.pop() as Worker, waiting.shift() as Job)
  }
  const start = (worker: Worker, job: Job) => {
    busy.set(worker, job)
    worker.postMessage(job.task)
  }
  const settle = (worker: Worker, end: (job: Job) => void) => {
    const job = busy.get(worker)
    busy.delete(worker)
    if (job !== undefined) end(job)
  }
  const add = () => {
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url))
    worker.on('message', (answer: string | boolean) => {
      settle(worker, (job) => job.resolve(answer))
      idle.push(worker)
      next()
    })
    worker.on('error', (error: Error) => settle(worker, (job) => job.reject(error)))
    worker.on('exit', () => {
      settle(worker, (job) => job.reject(new Error('the worker ended')))
      const at = idle.indexOf(worker)
      if (at >= 0) idle.splice(at, 1)
      if (!closed) add()
      next()
    })
    workers.add(worker)
    worker.once('exit', () => workers.delete(worker))
    idle.push(worker)
  }
  const workers = new Set<Worker>()
  for (let i = 0; i < size; i++) add()

  const run = (task: HashTask) =>
    new Promise<string | boolean>((resolve, reject) => {
      if (closed || waiting.length >= MAX_WAITING)
        return reject(new Problem('unavailable', { detail: 'Too many passwords are being checked.' }))
      waiting.push({ task, resolve, reject })
      next()
    })
  return {
    hash: async (input, cost) => String(await run({ input, cost })),
    compare: async (input, hash) => (await run({ input, hash })) === true,
    close: async () => {
      closed = true
      await Promise.all([...workers].map((worker) => worker.terminate()))
    },
  }
}
