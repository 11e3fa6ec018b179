import { parentPort } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import { answerTask, type ReadSpec, readSpec, type SpecTask } from './spec-task.ts'

const MAX_SPECS = 1_000
const MAX_CHARACTERS = 8 * 1024 * 1024

const specs = new LRUCache<string, ReadSpec>({ max: MAX_SPECS, maxSize: MAX_CHARACTERS })

parentPort?.on('message', (task: SpecTask) => {
  const read = () => {
    const known = specs.get(task.key)
    if (known !== undefined) return known
    const spec = readSpec(task.spec)
    specs.set(task.key, spec, { size: task.spec.length + 1 })
    return spec
  }
  parentPort?.postMessage(answerTask(task, read))
})
parentPort?.postMessage('ready')
