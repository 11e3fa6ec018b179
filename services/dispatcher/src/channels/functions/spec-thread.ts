import { Worker } from 'node:worker_threads'
import type { SpecAnswer, SpecTask } from './spec-task.ts'

const MAX_HEAP_MB = 128

/** What became of a task: `too_slow` beyond its deadline or its memory, `not_started` when no thread could be had. */
export type TaskEnd = SpecAnswer | { kind: 'too_slow' } | { kind: 'not_started' }

/** One worker thread, which works one task at a time. */
export interface SpecThread {
  /**
   * Resolves with the end and how many milliseconds it took; never rejects. A task that takes longer than `taskMs`
   * ends the thread, and the next one gets another.
   */
  run(task: SpecTask): Promise<{ end: TaskEnd; ms: number }>
  close(): Promise<void>
}

/** Starts its thread with the first task. */
export function createSpecThread({ taskMs }: { taskMs: number }): SpecThread {
  let worker: Promise<Worker | undefined> | undefined
  const run: SpecThread['run'] = async (task) => {
    worker ??= started()
    const thread = await worker
    const began = performance.now()
    const end: TaskEnd = thread === undefined ? { kind: 'not_started' } : await answerOf(thread, task, taskMs)
    if (end.kind === 'not_started' || end.kind === 'too_slow') worker = undefined
    return { end, ms: performance.now() - began }
  }
  return {
    run,
    async close() {
      await (await worker)?.terminate()
    },
  }
}

/** Resolves when the thread is ready; its start does not count for a task. */
function started(): Promise<Worker | undefined> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL('./spec-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    })
    // What is wrong shows when it exits.
    worker.on('error', () => {})
    worker.once('exit', () => resolve(undefined))
    worker.once('message', () => resolve(worker))
  })
}

function answerOf(worker: Worker, task: SpecTask, taskMs: number): Promise<TaskEnd> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => void worker.terminate(), taskMs)
    const end = (result: TaskEnd) => {
      clearTimeout(timer)
      worker.removeAllListeners('message')
      worker.removeAllListeners('exit')
      resolve(result)
    }
    worker.once('message', end)
    worker.once('exit', () => end({ kind: 'too_slow' }))
    worker.postMessage(task)
  })
}
