import { Piscina } from 'piscina'
import type { SpecResult, SpecTask } from './spec-task.ts'
import type { Worked } from './spec-worker.ts'

const MAX_HEAP_MB = 128
const START_MS = 30_000
/** How often a task's processor time is looked at while it runs: so many times until its deadline. */
const LOOKS = 10
/** A machine that is full gives a task so little of its processors at worst, as a part of one. */
const LEAST_SHARE = 0.1

/** What became of a task: `too_slow` beyond its deadline or its memory, `not_started` when no thread could be had. */
export type TaskEnd = SpecResult | { kind: 'too_slow' } | { kind: 'not_started' }

/** One worker thread, which works one task at a time. */
export interface SpecThread {
  /**
   * Resolves with the end and how many milliseconds of a processor it took; never rejects. A task that takes more than
   * `taskMs` of them, or ten times that by the clock, ends the thread, and the next one gets another.
   */
  run(task: SpecTask): Promise<{ end: TaskEnd; ms: number }>
  close(): Promise<void>
}

/**
 * Starts its thread with the first task. A pool of one: in a larger one the start of a thread, which costs as much as
 * a task may, would count for the task. Time is the processor's, since a full machine makes no spec a slow one.
 */
export function createSpecThread({ taskMs }: { taskMs: number }): SpecThread {
  const pool = new Piscina<SpecTask | undefined, Worked>({
    filename: new URL('./spec-worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  // What is wrong with a thread shows in its task.
  pool.on('error', () => {})
  const start = () =>
    pool.run(undefined, { signal: AbortSignal.timeout(START_MS) }).then(
      ({ used }) => millisecondsOf(used),
      () => undefined,
    )
  return {
    async run(task) {
      const before = await start()
      if (before === undefined) return { end: { kind: 'not_started' }, ms: 0 }
      const spent = new AbortController()
      const look = async () => {
        const used = await pool.threads[0]?.cpuUsage().catch(() => undefined)
        if (used !== undefined && millisecondsOf(used) - before >= taskMs) spent.abort()
      }
      const looking = setInterval(() => void look(), taskMs / LOOKS)
      const signal = AbortSignal.any([spent.signal, AbortSignal.timeout(taskMs / LEAST_SHARE)])
      const worked = await pool.run(task, { signal }).catch(() => undefined)
      clearInterval(looking)
      if (worked?.result === undefined) return { end: { kind: 'too_slow' }, ms: taskMs }
      return { end: worked.result, ms: millisecondsOf(worked.used) - before }
    },
    close: () => pool.destroy(),
  }
}

function millisecondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000
}
