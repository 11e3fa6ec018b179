import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { runCommand } from '@parley/local/processes/run-command'
import { choosePorts } from '@parley/local/servers/choose-ports'
import { findBinary } from '@parley/local/servers/find-binary'
import { startNativeServer } from '@parley/local/servers/native-server'
import { type BrokerSettings, readBrokerSettings, startNativeBroker } from '@parley/local/servers/rabbitmq'
import type { Server } from '@parley/local/servers/server'
import { z } from 'zod'

const HOST = '127.0.0.1'
const NODES = [1, 2, 3] as const
const COMMAND_MS = 60_000
const FOLDERS = ['/usr/lib/rabbitmq/bin', '/opt/homebrew/sbin', '/usr/local/sbin']
const COOKIE_BYTES = 24

/** Settings that docs/operations.md asks of a cluster of RabbitMQ. */
const CLUSTER_CONFIGURATION = [
  'cluster_partition_handling = pause_minority',
  'queue_leader_locator = balanced',
  'net_ticktime = 5',
]

/** Where a queue's members are, by the names of nodes. */
interface QueueMembers {
  name: string
  leader: string
  members: string[]
}

export interface BrokerCluster {
  /** In the order in which they joined. */
  nodes: Server[]
  /** Names all of them. */
  url: string
  /** The members of all quorum queues, as the node of that index knows them. */
  members(askedNode: number): Promise<QueueMembers[]>
  /** Runs `rabbitmq-queues` against the first node. */
  manage(args: string[]): Promise<void>
  /** Stops the nodes, and what they find each other by. */
  stop(): Promise<void>
}

/** Index of a node in `nodes`, by the name that the cluster has for it. */
export const indexOfNode = (name: string): number => Number(/^parley-(\d)@/.exec(name)?.[1]) - 1

/** Starts a RabbitMQ cluster of three: the second and third node join the first as they start, before there are queues. */
export async function startBrokerCluster(options: {
  directory: string
  /** Of the first node's management API; it has none without. */
  managementPort?: number
  say(line: string): void
}): Promise<BrokerCluster> {
  const { directory, managementPort, say } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const names = ['epmd', ...NODES.flatMap((node) => [`amqp-${node}`, `distribution-${node}`])]
  const ports = await choosePorts({ file: join(directory, 'ports.json'), names, say })
  const cookie = randomBytes(COOKIE_BYTES).toString('hex')
  const definitionsPath = join(directory, 'node-1/definitions.json')
  const settings = await readBrokerSettings({ directory, vhosts: [], definitionsPath })
  const epmdPort = ports.epmd ?? 0
  const epmd = await startEpmd(join(directory, 'epmd'), epmdPort)
  const nodes: Server[] = []
  for (const node of NODES) {
    const own = node === 1 ? withManagement(settings, managementPort) : settings
    nodes.push(
      await startNode({ node, directory: join(directory, `node-${node}`), settings: own, ports, cookie }),
    )
  }
  const manage = (command: string, asked: number, args: string[]) =>
    controlBroker({
      ...{ command, directory, epmdPort, home: join(directory, 'node-1') },
      args: ['-n', `parley-${asked + 1}@localhost`, '--silent', ...args],
    })
  const [first] = nodes
  const address = new URL(first?.url ?? '')
  const hosts = NODES.map((node) => `${HOST}:${ports[`amqp-${node}`]}`).join(',')
  return {
    nodes,
    url: `amqp://${address.username}:${address.password}@${hosts}`,
    members: async (asked) =>
      readMembers(
        await manage('rabbitmqctl', asked, [
          'list_queues',
          'name',
          'leader',
          'members',
          '--formatter',
          'json',
        ]),
      ),
    manage: async (args) => void (await manage('rabbitmq-queues', 0, args)),
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
      await epmd.stop()
    },
  }
}

/** Runs `rabbitmqctl` or another command of RabbitMQ; returns what it printed. */
export function controlBroker(options: {
  command: string
  args: string[]
  directory: string
  /** Of the broker. */
  home: string
  epmdPort: number
}): Promise<string> {
  const { command, args, directory, home, epmdPort } = options
  return runCommand({
    ...{ command: findBinary(command, FOLDERS) ?? command, args, cwd: home },
    owner: join(directory, 'control'),
    env: { HOME: home, ERL_EPMD_PORT: String(epmdPort), ERL_EPMD_ADDRESS: HOST },
    timeoutMs: COMMAND_MS,
  })
}

function withManagement(settings: BrokerSettings, port: number | undefined): BrokerSettings {
  if (port === undefined) return settings
  const lines = [`management.tcp.ip = ${HOST}`, `management.tcp.port = ${port}`, '']
  return {
    ...settings,
    configuration: settings.configuration + lines.join('\n'),
    plugins: 'rabbitmq_management',
  }
}

/** One for all nodes, so that none takes it along when it ends. */
async function startEpmd(directory: string, port: number): Promise<Server> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  return startNativeServer({
    name: 'epmd',
    url: `tcp://${HOST}:${port}`,
    source: 'Erlang on this machine',
    directory,
    logFile: join(directory, 'epmd.log'),
    command: findBinary('epmd') ?? 'epmd',
    args: ['-port', String(port), '-address', HOST],
    env: {},
    isReady: () => accepts(port),
    signal: new AbortController().signal,
  })
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: HOST, port })
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

async function startNode(options: {
  node: number
  directory: string
  settings: BrokerSettings
  ports: Record<string, number>
  cookie: string
}): Promise<Server> {
  const { node, directory, settings, ports, cookie } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeFile(join(directory, '.erlang.cookie'), cookie, { mode: 0o400 })
  const joining = [
    'cluster_formation.peer_discovery_backend = classic_config',
    'cluster_formation.classic_config.nodes.1 = parley-1@localhost',
  ]
  const lines = [settings.configuration, ...CLUSTER_CONFIGURATION, ...(node === 1 ? [] : joining), '']
  return startNativeBroker({
    directory,
    settings: { ...settings, configuration: lines.join('\n') },
    ports: {
      amqp: ports[`amqp-${node}`] ?? 0,
      'amqp-distribution': ports[`distribution-${node}`] ?? 0,
      'amqp-epmd': ports.epmd ?? 0,
    },
    nodeName: `parley-${node}`,
    signal: new AbortController().signal,
  })
}

const queues = z.array(
  z.object({ name: z.string(), leader: z.string().optional(), members: z.array(z.string()).optional() }),
)

/** Those without members are not replicated. */
function readMembers(text: string): QueueMembers[] {
  return queues
    .parse(JSON.parse(text))
    .flatMap(({ name, leader, members }) =>
      leader === undefined || members === undefined ? [] : [{ name, leader, members }],
    )
}
