import { killProcess } from '@parley/local/demo/running-system'
import { waitUntil } from '@parley/local/wait-until'
import type { Store } from './store.ts'

const PARTITIONS = 16
const REACHED_MS = 1_200_000
const BALANCED_MS = 60_000
const TAKEN_OVER_MS = 60_000
const CHECK_MS = 50

/** Who is killed (SIGKILL) once this share of the messages was answered with 200. */
const KILLS = [
  { at: 0.15, victim: 'dispatcher-2' },
  { at: 0.3, victim: 'rabbitmq' },
  { at: 0.45, victim: 'dispatcher-2' },
  { at: 0.6, victim: 'mongodb' },
  { at: 0.75, victim: 'dispatcher-2' },
] as const

/** What one kill led to; times in milliseconds from the kill. */
export interface PlannedKill {
  victim: string
  /** Milliseconds since the epoch. */
  killedAt: number
  readyAfterMs: number
  /** Until every partition of a killed dispatcher was leased by a live one. */
  takenOverAfterMs: number | undefined
}

/** Kills each victim when its share of the load is through, one after the other. */
export async function killOneAfterAnother(options: {
  store: Store
  runFile: string
  /** Between 0 and 1. */
  progress(): number
  say(line: string): void
}): Promise<PlannedKill[]> {
  const { store, runFile, progress, say } = options
  const kills: PlannedKill[] = []
  for (const { at, victim } of KILLS) {
    const reached = () => progress() >= at
    if (!(await waitUntil(reached, { timeoutMs: REACHED_MS, intervalMs: CHECK_MS })))
      throw new Error(`The load did not get as far as ${at}`)
    say(`${victim} is killed at ${Math.round(progress() * 100)}% of the load`)
    kills.push(await kill({ store, runFile, victim }))
  }
  return kills
}

async function kill({
  store,
  runFile,
  victim,
}: {
  store: Store
  runFile: string
  victim: string
}): Promise<PlannedKill> {
  if (!victim.startsWith('dispatcher')) {
    const killedAt = Date.now()
    const { readyAfterMs } = await killProcess({ victim, runFile })
    return { victim, killedAt, readyAfterMs, takenOverAfterMs: undefined }
  }
  await untilShared(store)
  const before = await store.terms()
  const killedAt = Date.now()
  const started = performance.now()
  const takenOver = async () => {
    const now = await store.terms()
    const changed = [...now].filter(([partition, term]) => term > (before.get(partition) ?? 0)).length
    return now.size === PARTITIONS && changed >= PARTITIONS / 2
  }
  const watching = waitUntil(takenOver, { timeoutMs: TAKEN_OVER_MS, intervalMs: CHECK_MS }).then((done) =>
    done ? performance.now() - started : Number.POSITIVE_INFINITY,
  )
  const { readyAfterMs } = await killProcess({ victim, runFile })
  return { victim, killedAt, readyAfterMs, takenOverAfterMs: await watching }
}

/** Waits until the instances lease the same number of partitions. */
async function untilShared(store: Store): Promise<void> {
  const shared = async () => {
    const shares = await store.shares()
    return shares.length === 2 && shares.every((share) => share === PARTITIONS / 2)
  }
  if (!(await waitUntil(shared, { timeoutMs: BALANCED_MS, intervalMs: CHECK_MS })))
    throw new Error('The dispatchers did not share the partitions evenly')
}
