import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isReady } from '@parley/local/demo/running-system'
import { startReaper } from '@parley/local/processes/start-reaper'
import { choosePorts } from '@parley/local/servers/choose-ports'
import { type Servers, startServers } from '@parley/local/servers/start-servers'
import type { CopyCounts } from '@parley/local/system/plan-processes'
import { type System, startSystem } from '@parley/local/system/start-system'
import { waitUntil } from '@parley/local/wait-until'

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

/** Starts a system of its own with so many copies of each service, all of them ready. */
export async function startOwnSystem(options: {
  copies: CopyCounts
  say(line: string): void
}): Promise<OwnSystem> {
  const { copies, say } = options
  const directory = await mkdtemp(join(tmpdir(), 'parley-run-'))
  const reaper = startReaper({ directory, remove: true })
  const stops: Array<() => Promise<void>> = [() => reaper.close()]
  const stop = async () => {
    for (const each of stops.toReversed()) await each()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const servers = await startServers({ directory: join(directory, 'servers'), say })
    stops.push(servers.stop)
    const file = join(directory, 'gateway-port.json')
    const { gateway: port } = await choosePorts({ file, names: ['gateway'], say })
    const quiet = { say: () => undefined, logLevel: 'fatal' }
    const system = await startSystem({ directory, port, servers, copies, ...quiet })
    stops.push(system.stop)
    await untilReady(system)
    return { system, runFile: join(directory, 'run.json'), servers, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function untilReady({ processes }: System): Promise<void> {
  const urls = Object.values(processes).flatMap(({ url, metricsUrl }) =>
    metricsUrl === undefined ? [] : [url],
  )
  const allReady = async () => (await Promise.all(urls.map(isReady))).every(Boolean)
  if (!(await waitUntil(allReady, { timeoutMs: READY_MS }))) throw new Error('Not all copies became ready')
}
