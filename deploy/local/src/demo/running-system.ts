import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { SetupError } from '../setup-error.ts'
import { waitUntil } from '../wait-until.ts'

const BACK_MS = 60_000

const schema = z.looseObject({
  gatewayUrl: z.url(),
  simulatorUrl: z.url(),
  modelSimulatorUrl: z.url(),
  mongoUrl: z.string(),
  amqpUrl: z.string(),
  redisUrl: z.string(),
  processes: z.record(z.string(), z.looseObject({ pid: z.int().optional(), url: z.string() })),
})
const health = z.object({ status: z.string() })
const READY_MS = 5_000

/** The run file of `npm start`: where it is, and the process id of each service and server it started. */
export type RunningSystem = z.output<typeof schema>

/** Reads what `npm start` wrote and asks the gateway whether it is ready. Throws SetupError when it is not. */
export async function findRunningSystem(runFile: string): Promise<RunningSystem> {
  const system = readRunFile(runFile)
  if (system === undefined) throw new SetupError('Parley is not running: start it with npm start first.')
  const ready = await isReady(system.gatewayUrl)
  if (!ready) {
    throw new SetupError(
      `Parley is not ready at ${system.gatewayUrl}: wait for npm start, or start it again.`,
    )
  }
  return system
}

/** Reads the run file; undefined when there is none. */
export function readRunFile(path: string): RunningSystem | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return undefined
  }
}

/** True when a process, and all that it depends on, is ready: of the gateway, whether the system is. */
export async function isReady(baseUrl: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(READY_MS)
    const response = await fetch(new URL('/health/ready', baseUrl), { signal })
    return health.parse(await response.json()).status === 'ready'
  } catch {
    return false
  }
}

/** The effect of a kill. */
export interface Kill {
  victim: string
  pid: number
  /** Milliseconds since the epoch. */
  at: number
  /** From the kill until the gateway and the victim's successor are ready. */
  readyAfterMs: number
}

/** The dispatchers of a system, the first one first. */
export function dispatchersOf({ processes }: { processes: Record<string, unknown> }): string[] {
  return Object.keys(processes).filter((name) => /^dispatcher(-\d+)?$/.test(name))
}

/** True when one process hosts all services, so that none can be killed alone. */
export function isTogether({ processes }: Pick<RunningSystem, 'processes'>): boolean {
  return processes.gateway?.pid !== undefined && processes.gateway.pid === processes.dispatcher?.pid
}

/**
 * Kills a process of the running system (SIGKILL) and waits until another one is in its place and all is ready,
 * at most a minute. Throws a SetupError when it is not a process of the system's own.
 */
export async function killProcess({ victim, runFile }: { victim: string; runFile: string }): Promise<Kill> {
  const pid = readRunFile(runFile)?.processes[victim]?.pid
  if (pid === undefined)
    throw new SetupError(`npm start did not start ${victim} itself, so it can't be killed here.`)
  const at = Date.now()
  const started = performance.now()
  process.kill(pid, 'SIGKILL')
  const back = await waitUntil(() => isReplaced({ victim, pid, runFile }), { timeoutMs: BACK_MS })
  if (!back) throw new Error(`${victim} was not ready again within ${BACK_MS / 1_000} s`)
  return { victim, pid, at, readyAfterMs: performance.now() - started }
}

async function isReplaced(options: { victim: string; pid: number; runFile: string }): Promise<boolean> {
  const { victim, pid, runFile } = options
  const system = readRunFile(runFile)
  const successor = system?.processes[victim]
  if (system === undefined || successor?.pid === undefined || successor.pid === pid) return false
  const own = !successor.url.startsWith('http') || (await isReady(successor.url))
  return own && (await isReady(system.gatewayUrl))
}
