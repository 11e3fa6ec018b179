import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { findFreePort } from '../servers/choose-ports.ts'
import { findBinary } from '../servers/find-binary.ts'
import { startNativeServer } from '../servers/native-server.ts'
import type { Server } from '../servers/server.ts'
import { freshDirectory } from './test-servers.ts'

const CLUSTER_SLOTS = 16_384

export interface RedisNode extends Server {
  port: number
}

/** A cluster of three masters, which share out all slots and know each other. The caller stops the nodes. */
export async function startRedisCluster(): Promise<RedisNode[]> {
  const nodes = await Promise.all([0, 1, 2].map(() => startClusterNode()))
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
  if (first !== undefined)
    await asked(first, (redis) =>
      Promise.all(others.map(({ port }) => redis.call('CLUSTER', 'MEET', '127.0.0.1', port))),
    )
  return nodes
}

async function startClusterNode(): Promise<RedisNode> {
  const bus = String(await findFreePort([]))
  return startRedisNode(['--cluster-enabled', 'yes', '--cluster-port', bus, '--cluster-node-timeout', '2000'])
}

/** One Redis without stored data, with further arguments. The caller stops it. */
export async function startRedisNode(args: string[], { sentinel = false } = {}): Promise<RedisNode> {
  const port = await findFreePort([])
  const directory = freshDirectory('redis-node')
  await mkdir(join(directory, 'data'))
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
    isReady: () => asked({ port }, async (redis) => (await redis.ping()) === 'PONG').catch(() => false),
    signal: new AbortController().signal,
  })
  return Object.assign(server, { port })
}

/** Asks one node something over a connection of its own. */
export async function asked<T>({ port }: { port: number }, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => {})
  try {
    await redis.connect()
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}
