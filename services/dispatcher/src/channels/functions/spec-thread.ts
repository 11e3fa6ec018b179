import { Piscina } from 'piscina'
import type { SpecResult, SpecTask } from './spec-task.ts'

const MAX_HEAP_MB = 128
const START_MS = 30_000

/** What became of a task: `too_slow` beyond its deadline or its memory, `not_started` when no thread could be had. */
export type TaskEnd = SpecResult | { kind: 'too_slow' } | { kind: 'not_started' }

/** One worker thread, which works one task at a time. */
export interface SpecThread {
  /**
   * Resolves with the end and how many milliseconds it took; never rejects. A task that takes longer than `taskMs`
   * ends the thread, and the next one gets another.
   */
  run(task: SpecTask): Promise<{ end: TaskEnd; ms: number }>
  close(): Promise<void>
}

/**
 * Starts its thread with the first task. A pool of one: in a larger one the start of a thread, which costs as much as
 * a task may, would count for the task.
 */
export function createSpecThread({ taskMs }: { taskMs: number }): SpecThread {
  const pool = new Piscina<SpecTask | undefined, SpecResult>({
    filename: new URL('./spec-worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  // What is wrong with a thread shows in its task.
  pool.on('error', () => {})
  const isStarted = () =>
    pool.run(undefined, { signal: AbortSignal.timeout(START_MS) }).then(
      () => true,
      () => false,
    )
  return {
    async run(task) {
      const started = await isStarted()
      const began = performance.now()
      const end: TaskEnd = started
        ? await pool
            .run(task, { signal: AbortSignal.timeout(taskMs) })
            .catch(() => ({ kind: 'too_slow' }) as const)
        : { kind: 'not_started' }
      return { end, ms: performance.now() - began }
    },
    close: () => pool.destroy(),
  }
}
