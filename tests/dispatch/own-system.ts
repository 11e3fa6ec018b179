import { join } from 'node:path'
import { choosePorts } from '@parley/local/servers/choose-ports'
import { type Servers, startServers } from '@parley/local/servers/start-servers'
import type { InstanceCounts } from '@parley/local/system/plan-processes'
import { type System, startSystem } from '@parley/local/system/start-system'
import { waitUntil } from '@parley/local/wait-until'
import { defined } from '@parley/shared/defined'
import type { Memory } from '@parley/shared/memory'
import { areReady, inTemporaryState } from './temporary-state.ts'

const READY_MS = 60_000

/** Servers, services and simulator on free ports, with a temporary state. */
export interface OwnSystem {
  system: System
  /** Says which process is which at the moment. */
  runFile: string
  servers: Servers
  /** Stops everything and deletes the state. */
  stop(): Promise<void>
}

/** Starts a system of its own with so many instances of each service, all of them ready. */
export function startOwnSystem(options: {
  instances: InstanceCounts
  /** One process hosts the first of each service; each has its own when not given. */
  together?: boolean
  /** How much memory servers and services may take; `default` when not given. */
  memory?: Memory
  /** Those that it uses and stops; some of its own when not given. */
  servers?: Servers & Pick<Parameters<typeof startSystem>[0], 'databaseOf'>
  /** What is killed again and again is started again after at most so long. */
  lastRestartDelayMs?: number
  /** Makes the code that runs, in a folder of its own; it is this checkout's when not given. */
  checkoutIn?(directory: string): Promise<{ path: string }>
  say(line: string): void
}): Promise<OwnSystem> {
  const { say, checkoutIn, servers: given, ...settings } = options
  return inTemporaryState('run', async ({ directory, stopLater }) => {
    const servers =
      given ??
      (await startServers({
        directory: join(directory, 'servers'),
        say,
        ...defined({ memory: options.memory }),
      }))
    stopLater(servers.stop)
    const file = join(directory, 'gateway-port.json')
    const { gateway: port } = await choosePorts({ file, names: ['gateway'], say })
    const checkout = (await checkoutIn?.(directory))?.path
    const quiet = { say: () => undefined, logLevel: 'fatal' }
    const system = await startSystem({
      directory,
      port,
      servers,
      ...defined({ checkout, databaseOf: given?.databaseOf }),
      ...settings,
      ...quiet,
    })
    stopLater(system.stop)
    if (!(await waitUntil(() => areReady(system), { timeoutMs: READY_MS })))
      throw new Error('Not all instances became ready')
    return { system, runFile: join(directory, 'run.json'), servers }
  })
}
