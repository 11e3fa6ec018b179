import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { asked, type RedisNode, startRedisCluster, startRedisNode } from '@parley/local/testing/redis-nodes'
import { freshDirectory, testServers } from '@parley/local/testing/test-servers'
import { startTlsServer } from '@parley/local/testing/tls-server'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import type { Redis } from 'ioredis'

const log = createLog({ service: 'test', level: 'silent' })
const stopAll = (nodes: RedisNode[]) => Promise.all(nodes.map((node) => node.stop()))
const untilReady = async (redis: Redis) =>
  expect(await waitUntil(() => redis.status === 'ready', { timeoutMs: 30_000 })).toBe(true)
const works = (redis: Redis) => () => redis.set('probe', '1').then(Boolean, () => false)

describe('a Redis Cluster', () => {
  let nodes: RedisNode[] = []
  let redis: Redis
  beforeAll(async () => {
    nodes = await startRedisCluster()
    redis = connectRedis(`redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, log)
    await untilReady(redis)
    expect(await waitUntil(works(redis), { timeoutMs: 30_000 })).toBe(true)
  })
  afterAll(async () => {
    redis.disconnect()
    await stopAll(nodes)
  })

  test('holds keys on all of its nodes', async () => {
    const names = Array.from({ length: 60 }, (_, at) => `key ${at}`)
    await Promise.all(names.map((name) => redis.set(name, name, 'EX', 60)))
    expect(await Promise.all(names.map((name) => redis.get(name)))).toEqual(names)
    const sizes = await Promise.all(nodes.map((node) => asked(node, (one) => one.dbsize())))
    for (const size of sizes) expect(size).toBeGreaterThan(0)
  })

  test('runs a script over keys of one slot', async () => {
    const script = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1]) .. KEYS[2]"
    expect(await redis.eval(script, 2, 'rate:{1}', 'rate:{1}:slow', 'x')).toBe('xrate:{1}:slow')
  })

  test('is found through any node that is there', async () => {
    const one = connectRedis(`redis+cluster://127.0.0.1:1,127.0.0.1:${nodes[2]?.port}`, log)
    await untilReady(one)
    expect(await one.ping()).toBe('PONG')
    one.disconnect()
  })
})

describe('a Redis with Sentinels', () => {
  let nodes: RedisNode[] = []
  let sentinels: RedisNode[] = []
  beforeAll(async () => {
    const master = await startRedisNode([])
    nodes = [master, await startRedisNode(['--replicaof', '127.0.0.1', String(master.port)])]
    sentinels = await Promise.all([0, 1, 2].map(() => startSentinel(master.port)))
    const known = () =>
      Promise.all(
        sentinels.map((sentinel) => asked(sentinel, (one) => one.call('SENTINEL', 'CKQUORUM', 'main'))),
      )
    const replicated = async () =>
      (await asked(master, (one) => one.info('replication'))).includes('state=online')
    expect(
      await waitUntil(
        () =>
          known().then(
            () => replicated(),
            () => false,
          ),
        { timeoutMs: 30_000 },
      ),
    ).toBe(true)
  })
  afterAll(() => stopAll([...nodes, ...sentinels]))

  test('is followed to its new master when the old one is killed', async () => {
    const hosts = ['127.0.0.1:1', ...sentinels.map(({ port }) => `127.0.0.1:${port}`)]
    const redis = connectRedis(`redis+sentinel://${hosts.join(',')}/main/0`, log)
    await untilReady(redis)
    await redis.set('before', 'yes')
    expect(await asked(nodes[0]!, (one) => one.get('before'))).toBe('yes')
    // Redis replicates after it has responded; what no replica has is lost with the master.
    expect(await redis.wait(1, 30_000)).toBe(1)
    process.kill(nodes[0]!.pid!, 'SIGKILL')
    expect(await waitUntil(works(redis), { timeoutMs: 60_000 })).toBe(true)
    expect(await asked(nodes[1]!, (one) => one.get('probe'))).toBe('1')
    expect(await redis.get('before')).toBe('yes')
    redis.disconnect()
  })
})

async function startSentinel(master: number): Promise<RedisNode> {
  const file = join(freshDirectory('sentinel'), 'sentinel.conf')
  const lines = [
    `sentinel monitor main 127.0.0.1 ${master} 2`,
    'sentinel down-after-milliseconds main 1000',
    'sentinel failover-timeout main 5000',
  ]
  await writeFile(file, lines.join('\n'))
  return startRedisNode([file, '--sentinel'], { sentinel: true })
}

test('a Redis that does not answer is waited for once, and not by each command, until it answers again', async () => {
  const node = await startRedisNode([])
  const redis = connectRedis(`redis://127.0.0.1:${node.port}`, log)
  try {
    await untilReady(redis)
    process.kill(node.pid!, 'SIGSTOP')
    const reasons: string[] = []
    for (let command = 0; command < 20; command++)
      await redis.ping().catch(({ message }: Error) => reasons.push(message))
    expect(reasons).toHaveLength(20)
    expect(reasons.filter((reason) => reason === 'Command timed out').length).toBeLessThan(3)
    process.kill(node.pid!, 'SIGCONT')
    expect(await waitUntil(works(redis), { timeoutMs: 30_000 })).toBe(true)
  } finally {
    redis.disconnect()
    process.kill(node.pid!, 'SIGCONT')
    await node.stop()
  }
})

test('Redis is reached by TLS, with the files that its URL names', async () => {
  const target = new URL((await testServers()).redisUrl)
  const server = await startTlsServer({ host: target.hostname, port: Number(target.port) })
  const trusted = connectRedis(`rediss://localhost:${server.port}?${server.files}`, log)
  await untilReady(trusted)
  expect(await trusted.ping()).toBe('PONG')
  const strangers = [`rediss://localhost:${server.port}`, `redis://localhost:${server.port}?${server.files}`]
  for (const url of strangers) {
    const stranger = connectRedis(url, log)
    await expect(stranger.ping()).rejects.toThrow()
    stranger.disconnect()
  }
  trusted.disconnect()
  await server.close()
})
