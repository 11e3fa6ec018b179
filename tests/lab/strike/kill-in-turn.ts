import { setTimeout as pause } from 'node:timers/promises'
import { killProcess, readRunFile } from '@parley/local/demo/running-system'
import { waitUntil } from '@parley/local/wait-until'

const READY_MS = 60_000
const REQUEST_MS = 5_000

/** The process that was killed; times in milliseconds since the epoch. */
export interface Killed {
  victim: string
  at: number
  /** When its loss is over for the others: of a server once it is ready again. */
  until: number
}

/**
 * Kills (SIGKILL) one instance after the other, one every `everyMs`, and each server once its share of the load is through,
 * until `progress` has reached `until` or `signal` aborts. Whoever runs the system starts them again; one that is not back
 * yet is passed over. With `waits` the next kill waits until all of them run and something has got through since the last.
 */
export async function killInTurn(options: {
  runFile: string
  /** The names of the instances. */
  instances: RegExp
  servers: readonly { victim: string; at: number }[]
  everyMs: number
  /** How much of the load is through, between 0 and 1. */
  progress(): number | Promise<number>
  until: number
  waits: boolean
  signal: AbortSignal
  say(line: string): void
}): Promise<Killed[]> {
  const { runFile, instances, everyMs, progress, until, waits, signal, say } = options
  const killed: Killed[] = []
  const servers = [...options.servers]
  const restarts: Promise<Killed>[] = []
  for (let round = 0, reached = 0; reached < until; round++) {
    await pause(everyMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) break
    if (waits) await waitUntil(() => areLive(runFile, instances), { timeoutMs: READY_MS })
    // The machine may be too busy for an answer in time, and so busy that nothing gets through between two kills.
    const before = reached
    const moved = async () => {
      reached = await Promise.resolve(progress()).catch(() => reached)
      return !waits || reached > before
    }
    await waitUntil(moved, { timeoutMs: READY_MS })
    const instance = killNext(runFile, instances, round)
    killed.push(instance)
    const victims = [instance.victim]
    const [server] = servers
    if (server !== undefined && reached >= server.at) {
      servers.shift()
      victims.push(server.victim)
      restarts.push(killServer(server.victim, runFile))
    }
    say(`${victims.join(' and ')} killed with ${Math.round(reached * 100)}% through`)
  }
  return [...killed, ...(await Promise.all(restarts))]
}

/** How often each was killed. */
export const killCounts = (killed: readonly Killed[]): [victim: string, times: number][] =>
  [...Map.groupBy(killed, ({ victim }) => victim)].map(([victim, { length }]) => [victim, length])

async function killServer(victim: string, runFile: string): Promise<Killed> {
  const { at, readyAfterMs } = await killProcess({ victim, runFile })
  return { victim, at, until: at + readyAfterMs }
}

function processesOf(runFile: string, instances: RegExp) {
  return Object.entries(readRunFile(runFile)?.processes ?? {}).filter(([name]) => instances.test(name))
}

function killNext(runFile: string, instances: RegExp, round: number): Killed {
  const all = processesOf(runFile, instances)
  const [victim = '', found] = all[round % all.length] ?? []
  const at = Date.now()
  try {
    if (found?.pid !== undefined) process.kill(found.pid, 'SIGKILL')
  } catch {
    // It has just ended, and is started again.
  }
  return { victim, at, until: at }
}

/** True if all of them run; without a server that was killed they are not ready. */
async function areLive(runFile: string, instances: RegExp): Promise<boolean> {
  const live = processesOf(runFile, instances).map(async ([, { url }]) => {
    const signal = AbortSignal.timeout(REQUEST_MS)
    return (await fetch(new URL('/health/live', url), { signal })).ok
  })
  return (await Promise.all(live)).every(Boolean)
}
