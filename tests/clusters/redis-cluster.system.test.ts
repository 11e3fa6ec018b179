import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createSendRateLimit } from '@parley/dispatcher/channels/send-rate-limit/send-rate-limit'
import { createRedisCount } from '@parley/gateway/rate-limit/settle'
import { createThrottle } from '@parley/identity/throttles'
import { type RedisNode, startRedisCluster } from '@parley/local/testing/redis-nodes'
import { waitUntil } from '@parley/local/wait-until'
import { createConfirmedIds, createIdempotency } from '@parley/shared/idempotency'
import type { Log } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import type { Redis } from 'ioredis'

/** Every warning: what a service says when it goes on without Redis. */
const warnings: unknown[] = []
const log = { warn: (...line: unknown[]) => void warnings.push(line), info: () => {} } as unknown as Log
const names = Array.from({ length: 30 }, (_, at) => `name ${at}`)
let nodes: RedisNode[] = []
let redis: Redis

beforeAll(async () => {
  nodes = await startRedisCluster()
  redis = connectRedis(`redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, log)
  const works = () => redis.set('probe', '1').then(Boolean, () => false)
  expect(await waitUntil(works, { timeoutMs: 30_000 })).toBe(true)
  warnings.length = 0
})
afterAll(async () => {
  redis.disconnect()
  await Promise.all(nodes.map((node) => node.stop()))
  expect(warnings).toEqual([])
})

test('rate limits are settled on a cluster', async () => {
  const count = createRedisCount(redis)
  const add = () => Promise.all(names.map((name) => count.add({ name, count: 2, ttlMs: 60_000 })))
  expect(await add()).toEqual(names.map(() => 2))
  expect(await add()).toEqual(names.map(() => 4))
})

test('tries at passwords are counted on a cluster', async () => {
  const throttles = [1, 2].map(() => createThrottle({ name: 'cluster', free: 1, redis }))
  for (const name of names) {
    expect(await throttles[0]?.count(name)).toBe(0)
    expect(await throttles[1]?.count(name)).toBe(250)
    await throttles[1]?.forgive(name)
    expect(await throttles[0]?.count(name)).toBe(0)
  }
})

test('idempotency keys and confirmed ids are remembered on a cluster', async () => {
  const idempotency = createIdempotency({ redis, prefix: 'idempotency', log })
  for (const key of names) {
    const request = { workspace: 1, key, body: Buffer.from(key) }
    expect(await idempotency.once(request, async () => {})).toEqual({ replayed: false })
    expect(await idempotency.once(request, async () => {})).toEqual({ replayed: true })
  }
  const confirmed = createConfirmedIds(redis, log)
  await confirmed.add(names)
  expect(await confirmed.among([...names, 'another'])).toEqual(new Set(names))
})

test('numbers are held to their rates on a cluster', async () => {
  const limiters = [1, 2].map(() => createSendRateLimit(redis, log))
  for (const number of names) {
    const keys = { number, person: 'p', perSecond: 80 }
    const request = { ended: new AbortController().signal }
    const slots = await Promise.all(limiters.map((limiter) => limiter.slot(keys, request)))
    const reserved = slots.flatMap((slot) => (slot.kind === 'reserved' ? [slot.at] : []))
    expect(new Set(reserved).size).toBe(2)
    await limiters[0]?.slowDown(keys)
    await limiters[0]?.count(keys)
  }
})
