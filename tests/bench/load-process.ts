import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { CHECKOUT } from '@parley/local/checkout'
import { connectRpc } from '../lab/load/lines.ts'
import type { OwnSystem } from '../lab/system/own-system.ts'
import {
  type Figures,
  mapValues,
  type ProcessGroups,
  secondsOf,
  since,
  sum,
} from '../lab/system/process-groups.ts'
import { cpuSeconds, machineSeconds } from '../lab/system/processes.ts'
import { makeApiToken, registerWorkspace } from '../lab/system/workspace.ts'
import type { LoadEndpoint, LoadOutcome, LoadTask } from './end-to-end-load.ts'
import type { LoadTarget } from './load-requests.ts'

const CHANNEL = 'end-to-end'

export interface MeasuredLoad extends LoadOutcome {
  /** How long it took, with all that it left behind. */
  seconds: number
  /** Processor time for each message beyond what would have been used without any, by process. */
  micros: Figures
  /** Processors in use by what is neither measured nor the load, on average: others disturb it. */
  disturbance: number
}

export type LoadProcess = Awaited<ReturnType<typeof startLoad>>

/** The client and the endpoint, in a process of their own, so that no other's processor time has them in it. */
export async function startLoad() {
  const child = fork(join(CHECKOUT, 'tests/bench/end-to-end-load.ts'))
  const nextMessage = async <T>() => {
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('The load has ended')))
    const [message] = await Promise.race([once(child, 'message'), ended])
    return message as T
  }
  const { url } = await nextMessage<LoadEndpoint>()
  return {
    url,
    pid: child.pid,
    carryOut(task: LoadTask): Promise<LoadOutcome> {
      child.send(task)
      return nextMessage<LoadOutcome>()
    },
    stop: () => child.disconnect(),
  }
}

/** Milliseconds of processor time a second while nothing happens, by process. */
export async function measureIdle(groups: () => ProcessGroups, seconds: number): Promise<Figures> {
  const before = secondsOf(groups())
  await pause(seconds * 1_000)
  return mapValues(since(before, secondsOf(groups())), (used) => (used * 1_000) / seconds)
}

/** Carries out a load and says what it cost; `idle` is what {@link measureIdle} has found. */
export async function measureLoad(options: {
  load: LoadProcess
  groups(): ProcessGroups
  idle: Figures
  task: LoadTask
}): Promise<MeasuredLoad> {
  const { load, groups, idle, task } = options
  const began = performance.now()
  const before = secondsOf(groups())
  const othersBefore = machineSeconds() - sum(before) - cpuSeconds(load)
  const outcome = await load.carryOut(task)
  const after = secondsOf(groups())
  const others = machineSeconds() - sum(after) - cpuSeconds(load) - othersBefore
  const spent = since(before, after)
  const seconds = (performance.now() - began) / 1_000
  const beyondIdle = (used: number, name: string) => used * 1e6 - (idle[name] ?? 0) * 1e3 * seconds
  return {
    ...outcome,
    seconds,
    micros: mapValues(spent, (used, name) => beyondIdle(used, name) / outcome.posted),
    disturbance: others / seconds,
  }
}

/** Makes a workspace with an API token and a channel whose sends go to `callbackUrl`. */
export async function makeParleyTarget(
  { system }: OwnSystem,
  callbackUrl: string,
  name = 'bench',
): Promise<LoadTarget> {
  const workspace = await registerWorkspace(system.gatewayUrl, name)
  await connectRpc({ workspace, callbackUrl, id: 1, extId: CHANNEL })
  const { token } = await makeApiToken(workspace, { name, role: 'WORKSPACE_ADMIN' })
  return { api: 'parley', port: Number(new URL(system.gatewayUrl).port), token, channel: CHANNEL }
}
