import { Worker } from 'node:worker_threads'
import { Problem } from '@parley/shared/problem'
import { LRUCache } from 'lru-cache'
import type { SpecAnswer, SpecTask } from './spec-task.ts'

const MAX_WAITING = 1_000
const TASK_MS = 3_000
const MAX_HEAP_MB = 128
const MAX_SLOW = 1_000
const SLOW_FOR_MS = 60_000

/** Works with specs away from the event loop: they and their patterns are somebody else's. */
export interface SpecReader {
  /** `too_slow` after 3 s, and for a minute from then on. Rejects with `unavailable` when 1,000 wait. */
  ask(task: SpecTask): Promise<SpecAnswer | { kind: 'too_slow' }>
  close(): Promise<void>
}

interface Job {
  task: SpecTask
  resolve(answer: SpecAnswer | { kind: 'too_slow' }): void
  reject(error: Error): void
}

/** Starts its thread with the first task; one that takes too long or too much memory is ended, and another started. */
export function createSpecReader({ taskMs = TASK_MS }: { taskMs?: number } = {}): SpecReader {
  const waiting: Job[] = []
  const slow = new LRUCache<string, true>({ max: MAX_SLOW, ttl: SLOW_FOR_MS })
  let worker: Worker | undefined
  let isReady = false
  let current: Job | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const start = () => {
    const started = new Worker(new URL('./spec-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    })
    worker = started
    started.on('message', (message: 'ready' | SpecAnswer) => {
      if (message === 'ready') isReady = true
      else finish((job) => job.resolve(message))
      next()
    })
    // What is wrong shows when it exits.
    started.on('error', () => {})
    started.on('exit', () => {
      const wasReady = isReady
      worker = undefined
      isReady = false
      if (closed) return
      if (!wasReady) return rejectAll('Specs can not be read.')
      finish((job) => {
        slow.set(job.task.key, true)
        job.resolve({ kind: 'too_slow' })
      })
      next()
    })
  }
  const rejectAll = (detail: string) => {
    const jobs = current === undefined ? waiting.splice(0) : [current, ...waiting.splice(0)]
    current = undefined
    for (const job of jobs) job.reject(new Problem('unavailable', { detail }))
  }
  const finish = (end: (job: Job) => void) => {
    const job = current
    current = undefined
    clearTimeout(timer)
    if (job !== undefined) end(job)
  }
  const next = () => {
    if (closed || current !== undefined || waiting.length === 0) return
    if (worker === undefined) return start()
    if (!isReady) return
    current = waiting.shift()
    if (current === undefined) return
    if (slow.has(current.task.key)) {
      finish((job) => job.resolve({ kind: 'too_slow' }))
      return next()
    }
    worker.postMessage(current.task)
    timer = setTimeout(() => void worker?.terminate(), taskMs)
  }
  return {
    ask: (task) =>
      new Promise((resolve, reject) => {
        if (closed || waiting.length >= MAX_WAITING)
          return reject(new Problem('unavailable', { detail: 'Too many specs are being read.' }))
        waiting.push({ task, resolve, reject })
        next()
      }),
    async close() {
      closed = true
      clearTimeout(timer)
      rejectAll('The service stops.')
      await worker?.terminate()
    },
  }
}
