import { type Kill, killProcess } from '@parley/local/demo/running-system'
import { waitUntil } from '@parley/local/wait-until'
import type { Store } from '../system/message-store.ts'

const PARTITIONS = 16
const REACHED_MS = 1_200_000
const BALANCED_MS = 60_000
const TAKEN_OVER_MS = 60_000
const CHECK_MS = 50

/** Kills each victim (SIGKILL) once its share of the load is through, one after the other. */
export async function killAtShares<T>(options: {
  kills: readonly { at: number; victim: string }[]
  /** Between 0 and 1. */
  progress(): number
  /** Resolves when it is back, with what that led to. */
  kill(victim: string): Promise<T>
  say(line: string): void
}): Promise<T[]> {
  const { kills, progress, kill, say } = options
  const results: T[] = []
  for (const { at, victim } of kills) {
    const reached = () => progress() >= at
    if (!(await waitUntil(reached, { timeoutMs: REACHED_MS, intervalMs: CHECK_MS })))
      throw new Error(`The load did not get as far as ${at}`)
    say(`${victim} is killed at ${Math.round(progress() * 100)}% of the load`)
    results.push(await kill(victim))
  }
  return results
}

/** A kill of a server, or of one of two dispatchers. */
interface ObservedKill extends Kill {
  /** Milliseconds until every partition of a killed dispatcher was leased by a live one. */
  takenOverAfterMs: number | undefined
}

/** Kills a process of a system with two dispatchers, which share the partitions evenly before. */
export async function killAndObserve(options: {
  store: Store
  runFile: string
  victim: string
}): Promise<ObservedKill> {
  const { store, runFile, victim } = options
  if (!victim.startsWith('dispatcher'))
    return { ...(await killProcess({ victim, runFile })), takenOverAfterMs: undefined }
  const shared = async () => {
    const shares = await store.shares()
    return shares.length === 2 && shares.every((share) => share === PARTITIONS / 2)
  }
  if (!(await waitUntil(shared, { timeoutMs: BALANCED_MS, intervalMs: CHECK_MS })))
    throw new Error('The dispatchers did not share the partitions evenly')
  const before = await store.terms()
  const started = performance.now()
  const takenOver = async () => {
    const now = await store.terms()
    const changed = [...now].filter(([partition, term]) => term > (before.get(partition) ?? 0)).length
    return now.size === PARTITIONS && changed >= PARTITIONS / 2
  }
  const watching = waitUntil(takenOver, { timeoutMs: TAKEN_OVER_MS, intervalMs: CHECK_MS }).then((done) =>
    done ? performance.now() - started : Number.POSITIVE_INFINITY,
  )
  return { ...(await killProcess({ victim, runFile })), takenOverAfterMs: await watching }
}
