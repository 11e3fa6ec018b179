// The process that runs tasks, one at a time: node run-tasks.ts <module> <bytes>
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Watched } from './watch-limits.ts'

/** The result of a task, how many milliseconds of a processor it took, and what its process has taken of memory. */
export interface Outcome<Result> {
  result: Result
  ms: number
  bytes: number
}

/** The message that begins the process. */
export interface Begin {
  task: unknown
  taskMs: number
}

const [, , module = '', maxBytes] = process.argv
// They are meant for the parent, which still waits for what runs here.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

const { default: work } = await import(module)
const state = new Int32Array(new SharedArrayBuffer(8))
const bytesAtStart = process.memoryUsage.rss()
const watched: Watched = {
  state,
  maxBytes: bytesAtStart + Number(maxBytes),
  parent: process.ppid,
}
await once(new Worker(new URL('./watch-limits.ts', import.meta.url), { workerData: watched }), 'online')
process.on('message', ({ task, taskMs }: Begin) => {
  const before = process.threadCpuUsage()
  Atomics.store(state, 1, taskMs)
  Atomics.add(state, 0, 1)
  Atomics.notify(state, 0)
  const result: unknown = work(task)
  Atomics.add(state, 0, 1)
  const { user, system } = process.threadCpuUsage(before)
  const bytes = process.memoryUsage.rss() - bytesAtStart
  const outcome: Outcome<unknown> = { result, ms: (user + system) / 1_000, bytes }
  process.send?.(outcome)
})
process.send?.('started')
