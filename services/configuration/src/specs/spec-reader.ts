import { createTaskProcess } from '@parley/shared/task-process/task-process'
import { LRUCache } from 'lru-cache'
import { createKeyedQueue } from '../store/keyed-queue.ts'
import type { SpecFacts, SpecText } from './spec-worker.ts'

const TASK_MS = 1_000
const MAX_KNOWN = 10_000
const SLOW_FOR_MS = 60_000
const ORIGIN_MS = 10_000

/** One version of an action's spec. */
export interface SpecVersion {
  workspace: number
  _id: number
  version: number
  spec: string
}

/** `too_slow` also for what takes too much memory; `not_checked` when the time was over first. */
type SpecCheck = { kind: 'fine' } | { kind: 'bad'; message: string } | { kind: 'too_slow' | 'not_checked' }

/** Reads specs, which are somebody else's, in a process of its own. */
export interface SpecReader {
  /** Returns the problems of a spec; each version is read once. `until` is a time of `performance.now()`. */
  check(version: SpecVersion, until: number): Promise<SpecCheck>
  /** The origin of its first server; undefined where it names none, or is not read within 10 s or its bounds. */
  originOf(spec: { workspace: number; spec: string; moduleUrl: string }): Promise<string | undefined>
  close(): Promise<void>
}

type Reading = { kind: 'read'; facts: SpecFacts } | { kind: 'too_slow' | 'not_checked' }

/** One process for all workspaces, which take turns: each waits there with one spec at a time. */
export function createSpecReader(): SpecReader {
  const process = createTaskProcess<SpecText, SpecFacts>(new URL('./spec-worker.ts', import.meta.url))
  const known = new LRUCache<string, SpecCheck>({ max: MAX_KNOWN })
  const turns = createKeyedQueue()
  const read = async (spec: SpecText): Promise<Reading> => {
    const end = await process.run(spec, { taskMs: TASK_MS })
    if (end.kind === 'done') return { kind: 'read', facts: end.result }
    return { kind: end.kind === 'killed' ? 'too_slow' : 'not_checked' }
  }
  const inSequence = <T>(workspace: number, work: () => Promise<T>): Promise<T> =>
    turns.run(String(workspace), () => turns.run('process', work))
  return {
    check(version, until) {
      const { workspace, _id, spec } = version
      const key = `${workspace}/${_id}/${version.version}`
      const found = () => known.get(key) ?? (performance.now() > until ? NOT_CHECKED : undefined)
      const checked = async () => {
        const check = checkOf(await read({ spec }))
        if (check.kind !== 'not_checked')
          known.set(key, check, check.kind === 'too_slow' ? { ttl: SLOW_FOR_MS } : {})
        return check
      }
      const queued = () => inSequence(workspace, async () => found() ?? (await checked()))
      return before(until, NOT_CHECKED, async () => found() ?? (await queued()))
    },
    originOf({ workspace, spec, moduleUrl }) {
      const until = performance.now() + ORIGIN_MS
      return before<string | undefined>(until, undefined, () =>
        inSequence(workspace, async () => {
          if (performance.now() > until) return undefined
          const reading = await read({ spec, moduleUrl })
          return reading.kind === 'read' ? reading.facts.origin : undefined
        }),
      )
    },
    close: () => process.close(),
  }
}

const NOT_CHECKED: SpecCheck = { kind: 'not_checked' }

/** Resolves with the result of `work`, or with `otherwise` once the time is over. */
function before<T>(until: number, otherwise: T, work: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const timer = setTimeout(() => resolve(otherwise), Math.max(0, until - performance.now()))
  work()
    .then(resolve, reject)
    .finally(() => clearTimeout(timer))
  return promise
}

function checkOf(reading: Reading): SpecCheck {
  if (reading.kind !== 'read') return { kind: reading.kind }
  const { error } = reading.facts
  return error === undefined ? { kind: 'fine' } : { kind: 'bad', message: error }
}
