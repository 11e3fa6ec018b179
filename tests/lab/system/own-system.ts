import { appendFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isReady } from '@parley/local/demo/running-system'
import { startReaper } from '@parley/local/processes/owned'
import { choosePorts } from '@parley/local/servers/choose-ports'
import { type Servers, startServers } from '@parley/local/servers/start-servers'
import type { FrontPorts, InstanceCounts } from '@parley/local/system/plan-processes'
import { type System, startSystem } from '@parley/local/system/start-system'
import { waitUntil } from '@parley/local/wait-until'
import { defined } from '@parley/shared/defined'
import type { Memory } from '@parley/shared/memory'

const READY_MS = 120_000

/** Servers, services and simulator on free ports, with a temporary state. */
export interface OwnSystem {
  system: System
  /** Holds the state of all. */
  directory: string
  /** Says which process is which at the moment. */
  runFile: string
  servers: Servers
  /** Waits until every process says that it, and all that it depends on, is ready; returns whether it came to that. */
  ready(): Promise<boolean>
  /** Stops the services, and leaves the servers. */
  stopServices(): Promise<void>
  /** Starts them again, on the same ports and with the same secrets. */
  startServices(): Promise<void>
  /** Stops everything and deletes the state. */
  stop(): Promise<void>
}

/** A system of which only the servers run. */
interface Prepared extends TemporaryState {
  servers: Servers
  /** The gateway's. */
  port: number
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
  /** The longest delay before a process that is killed again and again is started again. */
  lastRestartDelayMs?: number
  /** Makes the code that runs, in a folder of its own; it is this checkout's when not given. */
  checkoutIn?(directory: string): Promise<{ path: string }>
  /** Runs before there are services; they get the servers, and what is in front of them, that it returns. */
  prepare?(state: Prepared): Promise<{ servers?: Omit<Servers, 'stop'>; inFront?: FrontPorts }>
  /** A file for what the processes log at level `warn` and above; it goes nowhere when not given. */
  logFile?: string | undefined
  say(line: string): void
}): Promise<OwnSystem> {
  const { say, checkoutIn, prepare, logFile, servers: given, ...settings } = options
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
    const prepared = await prepare?.({ servers, directory, port, stopLater })
    const checkout = (await checkoutIn?.(directory))?.path
    const start = async () => {
      const system = await startSystem({
        ...{ directory, port, servers, ...prepared, ...logging(logFile) },
        ...defined({ checkout, databaseOf: given?.databaseOf }),
        ...settings,
      })
      running = system
      if (!(await ready())) throw new Error('Not all instances became ready')
      return system
    }
    let running: System | undefined
    const ready = () => waitUntil(() => running !== undefined && areReady(running), { timeoutMs: READY_MS })
    const stopServices = async () => {
      await running?.stop()
      running = undefined
    }
    stopLater(stopServices)
    return {
      system: await start(),
      ...{ directory, servers, runFile: join(directory, 'run.json'), ready, stopServices },
      startServices: async () => void (await start()),
    }
  })
}

/** Returns the options to start a system whose processes log to `file`, or nowhere without one. */
export function logging(file: string | undefined) {
  if (file === undefined) return { say: () => undefined, logLevel: 'fatal' }
  return { say: (line: string) => appendFileSync(file, `${line}\n`), logLevel: 'warn' }
}

interface TemporaryState {
  directory: string
  /** Has something stopped with the rest, before what was started earlier. */
  stopLater(stop: () => Promise<unknown>): void
}

/**
 * Starts something whose state is in a temporary directory, and answers with it and with what stops all of it and
 * deletes the state; both are also done when the start fails, or this process is killed.
 */
export async function inTemporaryState<T extends object>(
  name: string,
  start: (state: TemporaryState) => Promise<T>,
): Promise<T & { stop(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), `parley-${name}-`))
  const reaper = startReaper({ directory, remove: true })
  const stops: Array<() => Promise<unknown>> = [() => reaper.close()]
  const stop = async () => {
    for (const each of stops.toReversed()) await each()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    return { ...(await start({ directory, stopLater: (each) => void stops.push(each) })), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** True if every instance of every service reports that it, and all that it depends on, is ready. */
async function areReady({ processes }: System): Promise<boolean> {
  const services = Object.values(processes).filter(({ metricsUrl }) => metricsUrl !== undefined)
  return (await Promise.all(services.map(({ url }) => isReady(url)))).every(Boolean)
}
