import { setTimeout as pause } from 'node:timers/promises'
import { shutDown } from '@parley/local/servers/mongodb'
import { waitUntil } from '@parley/local/wait-until'
import type { FaultSystem, RoundSystem, Target } from '../system/proxied-system.ts'

const CUT_MS = 3_000
const SLOW_MS = 6_000
const DELAY_MS = 150
const STOPPED_MS = 10_000
const REPLACED_MS = 60_000
const CHECK_MS = 50

/** A system and the phone numbers of its load, for faults. */
export interface Surroundings<S extends RoundSystem = FaultSystem> {
  system: S
  /** The phone numbers that the load sends from. */
  phoneNumberIds: string[]
}

/** Something that goes wrong, and is over when `strike` returns. */
export interface InjectedFault<S extends RoundSystem = FaultSystem> {
  /** The fault and its target, as `kill redis`. */
  name: string
  /** True if callers may lose their connections or wait for their time-out meanwhile. */
  cutsCallers?: boolean
  /** Returns the moment from which recovery counts, by `performance.now()`. */
  strike(surroundings: Surroundings<S>): Promise<number>
  /** Takes away what the fault needed, when all is judged. */
  cleanUp?(surroundings: Surroundings<S>): Promise<void>
}

/** Chooses among the processes, when the fault strikes. */
export type Choose<S extends RoundSystem> = (system: S) => Promise<readonly string[]>

/** SIGKILL of all that are chosen, at once; the supervisor starts them again. Recovery counts from the kill. */
export function killOf<S extends RoundSystem>(name: string, choose: Choose<S>): InjectedFault<S> {
  return {
    name,
    async strike({ system }) {
      const victims = (await choose(system)).map((victim) => ({ victim, pid: pidOf(system, victim) }))
      const struckAt = performance.now()
      for (const { pid } of victims) process.kill(pid, 'SIGKILL')
      for (const { victim, pid } of victims) await untilReplaced(system, victim, pid)
      return struckAt
    },
  }
}

/** SIGSTOP of the first that is chosen, and later SIGCONT. Recovery counts from the SIGSTOP. */
export function suspendOf<S extends RoundSystem>(
  name: string,
  choose: Choose<S>,
  stoppedMs: number,
): InjectedFault<S> {
  return {
    name,
    async strike({ system }) {
      const [victim = ''] = await choose(system)
      const pid = pidOf(system, victim)
      const struckAt = performance.now()
      process.kill(pid, 'SIGSTOP')
      try {
        await pause(stoppedMs)
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      return struckAt
    },
  }
}

/** SIGKILL; recovery counts from there. */
export const kill = (victim: Target): InjectedFault => ({
  ...killOf<FaultSystem>(`kill -9 ${victim}`, async () => [victim]),
  cutsCallers: cutsCallers(victim),
})

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

/** SIGSTOP, and 10 s later SIGCONT, from which recovery counts: nothing of it answers, and nothing is closed. */
export function suspend(victim: Target): InjectedFault {
  const { name, strike } = suspendOf<FaultSystem>(`SIGSTOP 10 s ${victim}`, async () => [victim], STOPPED_MS)
  return {
    ...{ name, cutsCallers: cutsCallers(victim) },
    strike: (surroundings) => strike(surroundings).then(() => performance.now()),
  }
}

/** True if callers lose their connections with it. */
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

/** Every connection to it breaks, and none comes about for 3 s. */
export function cut(target: Target): InjectedFault {
  return {
    name: `cut ${target}`,
    cutsCallers: cutsCallers(target),
    async strike({ system }) {
      const network = system.networkOf(target)
      network.cut()
      await pause(CUT_MS)
      network.mend()
      return performance.now()
    },
  }
}

/** Delays the target's traffic by 150 ms each way, for 6 s. */
export function slow(target: Target): InjectedFault {
  return {
    name: `slow ${target}`,
    async strike({ system }) {
      const network = system.networkOf(target)
      network.slow(DELAY_MS)
      await pause(SLOW_MS)
      network.mend()
      return performance.now()
    },
  }
}
