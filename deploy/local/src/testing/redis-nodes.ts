import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { defined } from '@parley/shared/defined'
import { Redis } from 'ioredis'
import { findFreePort } from '../servers/choose-ports.ts'
import { findBinary } from '../servers/find-binary.ts'
import { startNativeServer } from '../servers/native-server.ts'
import type { Server } from '../servers/server.ts'
import { waitUntil } from '../wait-until.ts'
import { freshDirectory } from './test-servers.ts'

const CLUSTER_SLOTS = 16_384
const AGREE_MS = 30_000

/** The account that asks, of a server that has users. */
interface RedisAccount {
  username?: string
  password?: string
}

export interface RedisNode extends Server {
  port: number
}

/** A cluster of three masters, which share out all slots and know each other. The caller stops the nodes. */
export async function startRedisCluster(
  options: { directoryOf?: (node: number) => string; args?: string[] } = {},
): Promise<RedisNode[]> {
  const nodes = await Promise.all([1, 2, 3].map((node) => startClusterNode(node, options)))
  const share = Math.ceil(CLUSTER_SLOTS / nodes.length)
  await Promise.all(
    nodes.map((node, at) =>
      asked(node, async (redis) => {
        const last = Math.min((at + 1) * share, CLUSTER_SLOTS) - 1
        await redis.call('CLUSTER', 'ADDSLOTSRANGE', at * share, last)
        await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1)
      }),
    ),
  )
  const [first, ...others] = nodes
  if (first !== undefined) await asked(first, (redis) => Promise.all(others.map((node) => meet(redis, node))))
  const agree = async () => (await Promise.all(nodes.map(knowsAllSlots))).every(Boolean)
  if (!(await waitUntil(agree, { timeoutMs: AGREE_MS }))) throw new Error('the nodes do not find together')
  return nodes
}

const knowsAllSlots = (node: ClusterNode) =>
  asked(node, async (redis) => {
    const info = String(await redis.call('CLUSTER', 'INFO'))
    return info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${CLUSTER_SLOTS}`)
  })

const meet = (redis: Redis, { port, bus }: ClusterNode) =>
  redis.call('CLUSTER', 'MEET', '127.0.0.1', port, bus)

interface ClusterNode extends RedisNode {
  /** The port on which the nodes talk to each other. */
  bus: number
}

async function startClusterNode(
  node: number,
  { directoryOf, args = [] }: NonNullable<Parameters<typeof startRedisCluster>[0]>,
): Promise<ClusterNode> {
  const bus = await findFreePort([])
  const directory = directoryOf?.(node)
  const cluster = [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(bus),
    '--cluster-node-timeout',
    '2000',
  ]
  return Object.assign(await startRedisNode([...cluster, ...args], { ...defined({ directory }) }), { bus })
}

/** One Redis without stored data, with further arguments, in a folder of its own. The caller stops it. */
export async function startRedisNode(
  args: string[],
  options: { sentinel?: boolean; account?: RedisAccount; directory?: string } = {},
): Promise<RedisNode> {
  const { sentinel = false, account = {}, directory = freshDirectory('redis-node') } = options
  const port = await findFreePort([])
  await mkdir(join(directory, 'data'), { recursive: true })
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', join(directory, 'data')]
  const server = await startNativeServer({
    name: 'Redis',
    url: `redis://127.0.0.1:${port}`,
    source: 'redis-server on this machine',
    directory,
    logFile: join(directory, 'redis.log'),
    command: findBinary('redis-server') ?? 'redis-server',
    args: [...args, ...place, ...(sentinel ? [] : ['--save', '', '--set-proc-title', 'no'])],
    env: {},
    isReady: () =>
      asked({ port, ...account }, async (redis) => (await redis.ping()) === 'PONG').catch(() => false),
    signal: new AbortController().signal,
  })
  return Object.assign(server, { port })
}

/** Asks one node something over a connection of its own. */
export async function asked<T>(
  { port, username, password }: { port: number } & RedisAccount,
  work: (redis: Redis) => Promise<T>,
): Promise<T> {
  const account = { ...(username ? { username } : {}), ...(password ? { password } : {}) }
  // A user that may do little may not be allowed to ask for what the client looks at when it connects.
  const redis = new Redis(port, '127.0.0.1', {
    ...account,
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
  })
  redis.on('error', () => {})
  try {
    await redis.connect()
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}
