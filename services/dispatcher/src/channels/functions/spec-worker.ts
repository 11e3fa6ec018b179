import { LRUCache } from 'lru-cache'
import { type ReadSpec, readSpec, runSpecTask, type SpecResult, type SpecTask } from './spec-task.ts'

const MAX_SPECS = 1_000
const MAX_CHARACTERS = 8 * 1024 * 1024

const specs = new LRUCache<string, ReadSpec>({ max: MAX_SPECS, maxSize: MAX_CHARACTERS })

/** `used` is the processor time of the thread so far. */
export interface Worked {
  result: SpecResult | undefined
  used: NodeJS.CpuUsage
}

/** Answers a task in a worker thread; without one it only shows that the thread has started. */
export default function work(task: SpecTask | undefined): Worked {
  return { result: task && resultOf(task), used: process.threadCpuUsage() }
}

function resultOf(task: SpecTask): SpecResult {
  return runSpecTask(task, () => {
    const known = specs.get(task.key)
    if (known !== undefined) return known
    const spec = readSpec(task.spec)
    specs.set(task.key, spec, { size: task.spec.length + 1 })
    return spec
  })
}
