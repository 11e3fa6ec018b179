import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { SetupError } from '../setup-error.ts'

const schema = z.looseObject({
  gatewayUrl: z.url(),
  simulatorUrl: z.url(),
  processes: z.record(z.string(), z.looseObject({ pid: z.int().optional(), url: z.string() })),
})
const health = z.object({ status: z.string() })
const READY_MS = 5_000

/** What `npm start` says of itself: where it is, and the process id of each service and server it started. */
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

/** What the run file says now; undefined when there is none. */
export function readRunFile(path: string): RunningSystem | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return undefined
  }
}

/** Whether a process, and all that it depends on, is ready: of the gateway, whether the system is. */
export async function isReady(baseUrl: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(READY_MS)
    const response = await fetch(new URL('/health/ready', baseUrl), { signal })
    return health.parse(await response.json()).status === 'ready'
  } catch {
    return false
  }
}
