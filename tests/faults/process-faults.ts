import { setTimeout as pause } from 'node:timers/promises'
import { shutDown } from '@parley/local/servers/mongodb'
import { waitUntil } from '@parley/local/wait-until'
import type { InjectedFault } from './fault.ts'
import type { RoundSystem, Target } from './fault-system.ts'

const STOPPED_MS = 10_000
const REPLACED_MS = 60_000
const CHECK_MS = 50

/** SIGKILL; recovery counts from there. */
export function kill(victim: Target): InjectedFault {
  return {
    name: `kill -9 ${victim}`,
    cutsCallers: cutsCallers(victim),
    async strike({ system }) {
      const pid = pidOf(system, victim)
      const struckAt = performance.now()
      process.kill(pid, 'SIGKILL')
      await untilReplaced(system, victim, pid)
      return struckAt
    },
  }
}

/** Stopped as an administrator does it, and started again on its data. */
export function restart(victim: Target): InjectedFault {
  return {
    name: `restart ${victim}`,
    cutsCallers: cutsCallers(victim),
    async strike({ system }) {
      const pid = pidOf(system, victim)
      const struckAt = performance.now()
      // Under Wine a signal would not let it end cleanly.
      if (victim === 'mongodb') await shutDown(Number(new URL(system.servers.mongo.url).port))
      else process.kill(pid, 'SIGTERM')
      await untilReplaced(system, victim, pid)
      return struckAt
    },
  }
}

/** SIGSTOP, and 10 s later SIGCONT: nothing of it answers, and nothing is closed. */
export function suspend(victim: Target): InjectedFault {
  return {
    name: `SIGSTOP 10 s ${victim}`,
    cutsCallers: cutsCallers(victim),
    async strike({ system }) {
      const pid = pidOf(system, victim)
      process.kill(pid, 'SIGSTOP')
      try {
        await pause(STOPPED_MS)
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      return performance.now()
    },
  }
}

/** Whether callers lose their connections with it. */
export const cutsCallers = (victim: Target): boolean => victim === 'gateway' || victim === 'services'

export function pidOf(system: Pick<RoundSystem, 'pids'>, victim: string): number {
  const pid = system.pids()[victim]
  if (pid === undefined) throw new Error(`${victim} does not run`)
  return pid
}

/** Waits until another process is in its place. Throws after a minute. */
export async function untilReplaced(
  system: Pick<RoundSystem, 'pids'>,
  victim: string,
  pid: number,
): Promise<void> {
  const isReplaced = () => pidOf(system, victim) !== pid
  if (await waitUntil(isReplaced, { timeoutMs: REPLACED_MS, intervalMs: CHECK_MS })) return
  throw new Error(`Nothing took the place of ${victim}`)
}
