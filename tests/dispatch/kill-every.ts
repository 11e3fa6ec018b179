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

/** How often each was killed. */
export type KillCounts = Record<string, number>

/**
 * Kills (SIGKILL) one dispatcher after the other, one every 5 s, and RabbitMQ and MongoDB once each, until `progress`
 * has reached `until`. Whoever runs the system starts them again; on a machine so slow that the last one is not back
 * after 5 s, the next kill waits for it.
 */
export async function killEvery(options: {
  runFile: string
  /** How much of the load is through, between 0 and 1. */
  progress(): Promise<number>
  until: number
  timeoutMs: number
  say(line: string): void
}): Promise<KillCounts> {
  const { runFile, progress, until, timeoutMs, say } = options
  const counts: KillCounts = {}
  const servers = [...SERVERS]
  const restarts: Promise<unknown>[] = []
  const began = performance.now()
  for (let round = 0, reached = 0; reached < until; round++) {
    if (performance.now() - began > timeoutMs) break
    await pause(EVERY_MS)
    await waitUntil(() => areLive(runFile), { timeoutMs: READY_MS })
    // The machine may be too busy for an answer in time.
    reached = await progress().catch(() => reached)
    const victims = [killNext(runFile, round)]
    const [server] = servers
    if (server !== undefined && reached >= server.at) {
      servers.shift()
      victims.push(server.victim)
      restarts.push(killProcess({ victim: server.victim, runFile }))
    }
    for (const victim of victims) counts[victim] = (counts[victim] ?? 0) + 1
    say(`${victims.join(' and ')} killed with ${Math.round(reached * 100)}% through`)
  }
  await Promise.all(restarts)
  return counts
}

function killNext(runFile: string, round: number): string {
  const processes = readRunFile(runFile)?.processes ?? {}
  const names = dispatchersOf({ processes })
  const name = names[round % names.length] ?? ''
  const pid = processes[name]?.pid
  if (pid !== undefined) process.kill(pid, 'SIGKILL')
  return name
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
