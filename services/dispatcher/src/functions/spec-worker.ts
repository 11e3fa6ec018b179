import { sizeOf } from '@parley/shared/foreign-document'
import { LRUCache } from 'lru-cache'
import { type ReadSpec, readSpec, runSpecTask, type SpecResult, type SpecTask } from './spec-task.ts'

const MAX_SPECS = 1_000
/** Of all specs that are cached, some 30 MB. */
const MAX_NODES = 300_000

const specs = new LRUCache<string, ReadSpec>({ max: MAX_SPECS, maxSize: MAX_NODES })

/** Answers a task, in a process that may be killed meanwhile. */
export default function work(task: SpecTask): SpecResult {
  return runSpecTask(task, () => {
    const known = specs.get(task.key)
    if (known !== undefined) return known
    const spec = readSpec(task.spec)
    specs.set(task.key, spec, { size: sizeOf(spec.document.root).nodes })
    return spec
  })
}
