import { setTimeout as pause } from 'node:timers/promises'
import { dispatchersOf, killProcess, readRunFile } from '@parley/local/demo/running-system'
import { waitUntil } from '@parley/local/wait-until'

const EVERY_MS = 5_000
const READY_MS = 60_000
const REQUEST_MS = 5_000

/** A server that is killed once, when this share of the load is through. */
const SERVERS = [
  { victim: 'rabbitmq', at: 0.3 },
  { victim: 'mongodb', at: 0.6 },
] as const

/** Who was killed; times in milliseconds since the epoch. */
export interface Killed {
  victim: string
  at: number
  /** When its loss is over for the others: of a server once it is ready again. */
  until: number
}

/**
 * Kills (SIGKILL) one dispatcher after the other, one every 5 s, and RabbitMQ and MongoDB once each, until `progress`
 * has reached `until`. Whoever runs the system starts them again; on a machine so slow that the last one is not back
 * after 5 s, or nothing has got through since, the next kill waits for that.
 */
export async function killEvery(options: {
  runFile: string
  /** How much of the load is through, between 0 and 1. */
  progress(): Promise<number>
  until: number
  timeoutMs: number
  say(line: string): void
}): Promise<Killed[]> {
  const { runFile, progress, until, timeoutMs, say } = options
  const killed: Killed[] = []
  const servers = [...SERVERS]
  const restarts: Promise<Killed>[] = []
  const began = performance.now()
  for (let round = 0, reached = 0; reached < until; round++) {
    if (performance.now() - began > timeoutMs) break
    await pause(EVERY_MS)
    await waitUntil(() => areLive(runFile), { timeoutMs: READY_MS })
    // The machine may be too busy for an answer in time, and so busy that nothing gets through between two kills.
    const before = reached
    const moved = async () => {
      reached = await progress().catch(() => reached)
      return reached > before
    }
    await waitUntil(moved, { timeoutMs: READY_MS })
    const dispatcher = killNext(runFile, round)
    killed.push(dispatcher)
    const victims = [dispatcher.victim]
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

async function killServer(victim: string, runFile: string): Promise<Killed> {
  const { at, readyAfterMs } = await killProcess({ victim, runFile })
  return { victim, at, until: at + readyAfterMs }
}

function killNext(runFile: string, round: number): Killed {
  const processes = readRunFile(runFile)?.processes ?? {}
  const names = dispatchersOf({ processes })
  const name = names[round % names.length] ?? ''
  const pid = processes[name]?.pid
  const at = Date.now()
  if (pid !== undefined) process.kill(pid, 'SIGKILL')
  return { victim: name, at, until: at }
}

/** Whether all dispatchers run; without a server that was killed they are not ready. */
async function areLive(runFile: string): Promise<boolean> {
  const processes = readRunFile(runFile)?.processes ?? {}
  const urls = dispatchersOf({ processes }).map((name) => processes[name]?.url ?? '')
  const live = urls.map(async (url) => {
    const signal = AbortSignal.timeout(REQUEST_MS)
    return (await fetch(new URL('/health/live', url), { signal })).ok
  })
  return (await Promise.all(live)).every(Boolean)
}
