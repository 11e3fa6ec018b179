import { SetupError } from '../setup-error.ts'
import { waitUntil } from '../wait-until.ts'
import { isReady, readRunFile } from './running-system.ts'

const BACK_MS = 60_000

/** What a kill did. */
export interface Kill {
  victim: string
  pid: number
  /** From the kill until the gateway and the victim's successor are ready. */
  readyAfterMs: number
}

/** The dispatchers of a system, the first one first. */
export function dispatchersOf({ processes }: { processes: Record<string, unknown> }): string[] {
  return Object.keys(processes).filter((name) => /^dispatcher(-\d+)?$/.test(name))
}

/**
 * Kills a process of the running system (SIGKILL) and waits until another one is in its place and all is ready,
 * at most a minute. Throws a SetupError when it is not a process of the system's own.
 */
export async function killProcess({ victim, runFile }: { victim: string; runFile: string }): Promise<Kill> {
  const pid = readRunFile(runFile)?.processes[victim]?.pid
  if (pid === undefined)
    throw new SetupError(`npm start did not start ${victim} itself, so it can't be killed here.`)
  const started = performance.now()
  process.kill(pid, 'SIGKILL')
  const back = await waitUntil(() => isReplaced({ victim, pid, runFile }), { timeoutMs: BACK_MS })
  if (!back) throw new Error(`${victim} was not ready again within ${BACK_MS / 1_000} s`)
  return { victim, pid, readyAfterMs: performance.now() - started }
}

async function isReplaced(options: { victim: string; pid: number; runFile: string }): Promise<boolean> {
  const { victim, pid, runFile } = options
  const system = readRunFile(runFile)
  const successor = system?.processes[victim]
  if (system === undefined || successor?.pid === undefined || successor.pid === pid) return false
  const own = !successor.url.startsWith('http') || (await isReady(successor.url))
  return own && (await isReady(system.gatewayUrl))
}
