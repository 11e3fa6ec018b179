// A thread that ends its process by SIGKILL when a task takes too much: nothing else ends what runs in native code.
import { workerData } from 'node:worker_threads'

/** The data of the thread. */
export interface Watched {
  /** How often a task has begun or ended, so it is odd while one runs, and what that may take, in milliseconds. */
  state: Int32Array
  /** Of the resident set. */
  maxBytes: number
  parent: number
}

const LOOK_MS = 20
const IDLE_LOOK_MS = 1_000

const { state, maxBytes, parent } = workerData as Watched
let seen = 0
let before = 0
for (;;) {
  const now = Atomics.load(state, 0)
  if (now !== seen) before = millisecondsUsed()
  seen = now
  const isBusy = now % 2 === 1
  const isLate = millisecondsUsed() - before > Atomics.load(state, 1)
  const isOver = isBusy && (isLate || process.memoryUsage.rss() > maxBytes)
  // The parent was killed: nobody waits for the task.
  if (isOver || process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  Atomics.wait(state, 0, now, isBusy ? LOOK_MS : IDLE_LOOK_MS)
}

function millisecondsUsed(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
