import { join } from 'node:path'
import { readRunFile } from '@parley/local/demo/running-system'
import { choosePorts } from '@parley/local/servers/choose-ports'
import type { Server } from '@parley/local/servers/server'
import type { Servers } from '@parley/local/servers/start-servers'
import { SetupError } from '@parley/local/setup-error'
import { z } from 'zod'
import { type Network, startNetwork } from './network.ts'
import { startOwnSystem } from './own-system.ts'

const HOST = '127.0.0.1'
const SERVICES = ['gateway', 'identity', 'webhook', 'configuration', 'dispatcher', 'campaigns'] as const
const SERVERS = ['rabbitmq', 'mongodb', 'redis'] as const
/** Two, so that one takes over from the other. */
const INSTANCES = { dispatcher: 2 }

/** A target of faults: a server, a service in its own process, or `services`, the process that hosts all of them. */
export type Target = (typeof SERVERS)[number] | (typeof SERVICES)[number] | 'services'

/** The key of the layout that a system has. */
export const layoutConfig = {
  TOGETHER: z.stringbool().default(false).describe('One process hosts all services, as `npm start` has it'),
}

/** The parts of the system that every round needs. */
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
  /** Its possible targets, in the layout that it has. */
  targets: readonly Target[]
  /** Returns the network in front of a target: for `services`, in front of its gateway. */
  networkOf(target: Target): Network
  /** The servers themselves, by their own ports. */
  servers: Servers
  /** Holds the state of all; the broker's is in `servers/rabbitmq`. */
  directory: string
  stop(): Promise<void>
}

/** Starts a system with temporary state. Throws a SetupError when its servers are not processes of its own. */
export async function startFaultSystem(options: {
  say(line: string): void
  /** One process hosts all services, sized as `npm start` does; each has its own, with two dispatchers, when not given. */
  together?: boolean
  /** Gets what the processes log at level `warn` and above. */
  logFile?: string | undefined
}): Promise<FaultSystem> {
  const { say, logFile, together = false } = options
  const targets = [...SERVERS, ...(together ? (['services'] as const) : SERVICES)]
  const networks = new Map<Target, Network>()
  const networkOf = (target: Target) => {
    const network = networks.get(target)
    if (network === undefined) throw new Error(`${target} is no target`)
    return network
  }
  const own = await startOwnSystem({
    ...{ instances: together ? {} : INSTANCES, together, memory: together ? 'small' : 'default' },
    ...{ logFile, say },
    async prepare({ servers, directory, port, stopLater }) {
      const file = join(directory, 'ports.json')
      const behindGateway = SERVICES.filter((name) => name !== 'gateway')
      const chosen = await choosePorts({ file, names: behindGateway, except: port, say })
      const ports = { ...portsOf(servers), ...chosen, gateway: port, services: port }
      stopLater(() => Promise.all([...networks.values()].map((network) => network.close())))
      for (const name of targets) networks.set(name, await startNetwork({ host: HOST, ports: [ports[name]] }))
      return {
        servers: behind(servers, networkOf),
        inFront: together
          ? { gateway: networkOf('services').port }
          : Object.fromEntries(SERVICES.map((name) => [name, networkOf(name).port])),
      }
    },
  })
  const { system, servers, directory, ready, stop } = own
  const pids = () => (together ? asOne(readPids(directory)) : readPids(directory))
  const [foreign] = SERVERS.filter((name) => pids()[name] === undefined)
  if (foreign !== undefined) {
    await stop()
    throw new SetupError(`${foreign} is not a process of this machine's own.`)
  }
  return {
    gatewayUrl: `http://${HOST}:${networkOf(together ? 'services' : 'gateway').port}`,
    simulatorUrl: system.simulatorUrl,
    amqpUrls: [servers.rabbitmq.url],
    ...{ targets, networkOf, servers, directory, pids, ready, stop },
  }
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
