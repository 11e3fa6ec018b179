import { setTimeout as pause } from 'node:timers/promises'
import { killProcess, readRunFile } from '@parley/local/demo/running-system'

const SERVERS = [
  { victim: 'redis', at: 0.2 },
  { victim: 'rabbitmq', at: 0.4 },
  { victim: 'mongodb', at: 0.6 },
] as const
const SERVICE = /^(campaigns|dispatcher|webhook|configuration|identity|gateway)(-\d+)?$/

/** How often each was killed. */
export type KillCounts = Record<string, number>

/**
 * Kills (SIGKILL) one instance of a service after the other, one every `everyMs`, and each server once, until `progress`
 * says 1 or `signal` aborts. Whoever runs the system starts them again; one that is not back yet is passed over.
 */
export async function killEach(options: {
  runFile: string
  everyMs: number
  /** How much is through, between 0 and 1. */
  progress(): number
  signal: AbortSignal
  say(line: string): void
}): Promise<KillCounts> {
  const { runFile, everyMs, progress, signal, say } = options
  const counts: KillCounts = {}
  const servers = [...SERVERS]
  const restarts: Promise<unknown>[] = []
  for (let round = 0; progress() < 1 && !signal.aborted; round++) {
    await pause(everyMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) break
    const victims = [killNext(runFile, round)]
    const [server] = servers
    if (server !== undefined && progress() >= server.at) {
      servers.shift()
      victims.push(server.victim)
      restarts.push(killProcess({ victim: server.victim, runFile }))
    }
    for (const victim of victims) counts[victim] = (counts[victim] ?? 0) + 1
    say(`${victims.join(' and ')} killed with ${Math.round(progress() * 100)}% through`)
  }
  await Promise.all(restarts)
  return counts
}

function killNext(runFile: string, round: number): string {
  const processes = readRunFile(runFile)?.processes ?? {}
  const names = Object.keys(processes).filter((name) => SERVICE.test(name))
  const name = names[round % names.length] ?? ''
  const pid = processes[name]?.pid
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  } catch {
    // It has just ended, and is started again.
  }
  return name
}
