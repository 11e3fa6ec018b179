import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRunFile } from '@parley/local/demo/running-system'
import { choosePorts } from '@parley/local/servers/choose-ports'
import type { Server } from '@parley/local/servers/server'
import { type Servers, startServers } from '@parley/local/servers/start-servers'
import { SetupError } from '@parley/local/setup-error'
import { startSystem } from '@parley/local/system/start-system'
import { waitUntil } from '@parley/local/wait-until'
import { z } from 'zod'
import { areReady, inTemporaryState } from '../dispatch/temporary-state.ts'
import { type Network, startNetwork } from './network.ts'

const HOST = '127.0.0.1'
const READY_MS = 90_000
const SERVICES = ['gateway', 'identity', 'webhook', 'configuration', 'dispatcher', 'campaigns'] as const
const SERVERS = ['rabbitmq', 'mongodb', 'redis'] as const
/** Two, so that one takes over from the other. */
const INSTANCES = { dispatcher: 2 }

/** What can fail: a server, a service in a process of its own, or `services`, the process that hosts all of them. */
export type Target = (typeof SERVERS)[number] | (typeof SERVICES)[number] | 'services'

/** The key of the layout that a system has. */
export const layoutConfig = {
  TOGETHER: z.stringbool().default(false).describe('One process hosts all services, as `npm start` has it'),
}

/** What every round needs of the system that it runs on. */
export interface RoundSystem {
  gatewayUrl: string
  simulatorUrl: string
  /** The broker's nodes, by their own ports. */
  amqpUrls: string[]
  /** The process ids of the moment, by name: servers, services, further instances. */
  pids(): Record<string, number>
  /** Waits until every process says that it, and all that it depends on, is ready; returns whether it came to that. */
  ready(): Promise<boolean>
}

/** A whole system with proxies between its parts, and the means to look behind them. */
export interface FaultSystem extends RoundSystem {
  /** What can fail of it, in the layout that it has. */
  targets: readonly Target[]
  /** What is in front of a target: of `services`, of its gateway. */
  networkOf(target: Target): Network
  /** The servers themselves, by their own ports. */
  servers: Servers
  /** Holds the state of all; the broker's is in `servers/rabbitmq`. */
  directory: string
  stop(): Promise<void>
}

/** Starts a system with temporary state. Throws a SetupError when its servers are not processes of its own. */
export function startFaultSystem(options: {
  say(line: string): void
  /** One process hosts all services, sized as `npm start` does; each has its own, with two dispatchers, when not given. */
  together?: boolean
  /** Gets what the processes log at level `warn` and above. */
  logFile?: string | undefined
}): Promise<FaultSystem> {
  const { say, logFile, together = false } = options
  const memory = together ? 'small' : 'default'
  const targets = [...SERVERS, ...(together ? (['services'] as const) : SERVICES)]
  return inTemporaryState('faults', async ({ directory, stopLater }) => {
    const servers = await startServers({ directory: join(directory, 'servers'), memory, say })
    stopLater(servers.stop)
    const ports = await choosePorts({ file: join(directory, 'ports.json'), names: SERVICES, say })
    const networks = await startNetworks(targets, { ...portsOf(servers), ...ports, services: ports.gateway })
    stopLater(() => Promise.all([...networks.values()].map((network) => network.close())))
    const networkOf = (target: Target) => {
      const network = networks.get(target)
      if (network === undefined) throw new Error(`${target} is no target`)
      return network
    }
    const inFront = together
      ? { gateway: networkOf('services').port }
      : Object.fromEntries(SERVICES.map((name) => [name, networkOf(name).port]))
    const system = await startSystem({
      directory,
      port: ports.gateway,
      ...(together ? { together } : { instances: INSTANCES }),
      servers: behind(servers, networkOf),
      ...{ memory, inFront },
      ...logging(logFile),
    })
    stopLater(system.stop)
    const own = {
      gatewayUrl: `http://${HOST}:${networkOf(together ? 'services' : 'gateway').port}`,
      simulatorUrl: system.simulatorUrl,
      amqpUrls: [servers.rabbitmq.url],
      ...{ targets, networkOf, servers, directory },
      pids: () => (together ? asOne(readPids(directory)) : readPids(directory)),
      ready: () => waitUntil(() => areReady(system), { timeoutMs: READY_MS }),
    }
    const [foreign] = SERVERS.filter((name) => own.pids()[name] === undefined)
    if (foreign !== undefined) throw new SetupError(`${foreign} is not a process of this machine's own.`)
    if (!(await own.ready())) throw new Error('Not all processes became ready')
    return own
  })
}

/** What a system is started with so that what its processes log goes to `file`, or nowhere without one. */
export function logging(file: string | undefined) {
  if (file === undefined) return { say: () => undefined, logLevel: 'fatal' }
  return { say: (line: string) => appendFileSync(file, `${line}\n`), logLevel: 'warn' }
}

/** The process ids that the run file in `directory` has, by name. */
export function readPids(directory: string): Record<string, number> {
  const { processes = {} } = readRunFile(join(directory, 'run.json')) ?? {}
  const running = Object.entries(processes)
  return Object.fromEntries(running.flatMap(([name, { pid }]) => (pid === undefined ? [] : [[name, pid]])))
}

/** The services that one process hosts, as that process. */
function asOne({ gateway, ...pids }: Record<string, number>): Record<string, number> {
  const others = Object.entries(pids).filter(([name]) => !SERVICES.some((service) => service === name))
  return { ...Object.fromEntries(others), ...(gateway !== undefined && { services: gateway }) }
}

function portsOf({ mongo, rabbitmq, redis }: Servers): Record<(typeof SERVERS)[number], number> {
  const portOf = ({ url }: Server) => Number(new URL(url).port)
  return { mongodb: portOf(mongo), rabbitmq: portOf(rabbitmq), redis: portOf(redis) }
}

async function startNetworks(
  targets: readonly Target[],
  ports: Record<Target, number>,
): Promise<Map<Target, Network>> {
  const started = targets.map(async (name) => {
    const network = await startNetwork({ host: HOST, ports: [ports[name]] })
    return [name, network] as const
  })
  return new Map(await Promise.all(started))
}

/** The servers, by the networks in front of them. */
function behind({ mongo, rabbitmq, redis }: Servers, networkOf: FaultSystem['networkOf']) {
  const amqp = new URL(rabbitmq.url)
  amqp.port = String(networkOf('rabbitmq').port)
  return {
    // Else the driver would find the server's own address, and go there.
    mongo: reachedAt(mongo, `mongodb://${HOST}:${networkOf('mongodb').port}/?directConnection=true`),
    rabbitmq: reachedAt(rabbitmq, amqp.href),
    redis: reachedAt(redis, `redis://${HOST}:${networkOf('redis').port}`),
  }
}

const reachedAt = (server: Server, url: string): Server => Object.create(server, { url: { value: url } })
