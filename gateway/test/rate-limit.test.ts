import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, describe, expect, jest, test } from '@jest/globals'
import type { JsonResponse } from '@parley/local/testing/send-json'
import { testServers } from '@parley/local/testing/test-servers'
import { waitUntil } from '@parley/local/wait-until'
import { defined } from '@parley/shared/defined'
import { createLog } from '@parley/shared/log'
import { Problem } from '@parley/shared/problem'
import { connectRedis } from '@parley/shared/redis'
import type { Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { newRegistration } from '../../services/identity/test/identity-server.ts'
import type { GatewayConfig } from '../src/config.ts'
import { createRateCounter, type RateCounter } from '../src/rate-limit/rate-counter.ts'
import { createRateLimits } from '../src/rate-limit/rate-limits.ts'
import { createRedisCount, settleRegularly } from '../src/rate-limit/settle.ts'
import { routes } from '../src/routes.ts'
import { systemForTests } from './gateway-system.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const isFull = (counter: RateCounter, key: string): boolean => {
  try {
    counter.take(key)
    return false
  } catch (error) {
    if (error instanceof Problem && error.code === 'rate_limited') return true
    throw error
  }
}

describe('a rate counter', () => {
  test('allows each key the quota of a window', () => {
    const counter = createRateCounter({ name: 'x', quota: 3, windowSeconds: 86_400 })
    expect([1, 2, 3, 4].map(() => isFull(counter, 'a'))).toEqual([false, false, false, true])
    expect(isFull(counter, 'b')).toBe(false)
  })

  test('starts from zero in the next window', async () => {
    const counter = createRateCounter({ name: 'x', quota: 1, windowSeconds: 1 })
    expect(await waitUntil(() => isFull(counter, 'a'), { timeoutMs: 3_000, intervalMs: 1 })).toBe(true)
    expect(await waitUntil(() => !isFull(counter, 'a'), { timeoutMs: 3_000, intervalMs: 10 })).toBe(true)
  })

  test('keeps nothing of a window that is over', async () => {
    const counter = createRateCounter({ name: 'x', quota: 1, windowSeconds: 1 })
    counter.take('a')
    const [counted, ...others] = counter.drain().map((use) => new WeakRef(use))
    expect(others).toEqual([])
    const isForgotten = () => {
      isFull(counter, 'b')
      counter.drain()
      collectGarbage()
      return counted?.deref() === undefined
    }
    expect(await waitUntil(isForgotten, { timeoutMs: 10_000, intervalMs: 100 })).toBe(true)
  })

  test('keeps bounded what waits to be settled, also where nobody settles it', () => {
    const counter = createRateCounter({ name: 'x', quota: 9, windowSeconds: 1 })
    const clock = jest.spyOn(Date, 'now')
    try {
      for (let second = 0; second < 100; second++) {
        clock.mockReturnValue(second * 1_000)
        for (let n = 0; n < 100; n++) counter.take(`${second} ${n}`)
      }
      expect(counter.drain().length).toBe(100)
      for (let n = 0; n < 60_000; n++) counter.take(`many ${n}`)
      expect(counter.drain().length).toBe(50_000)
    } finally {
      clock.mockRestore()
    }
  })
})

test('what an unknown caller writes in place of a slug makes no key of its own', () => {
  const { limits, counters } = createRateLimits({ NODE_ENV: 'test' } as GatewayConfig, new Registry())
  const route = routes.find(({ access, limit }) => access === 'public' && limit === 'webhook')
  if (route === undefined) throw new Error('no route is for providers')
  const segments = ['acme', 'x'.repeat(15_000), 'y'.repeat(64), 'ACME', '%C3%A9', 'a.b']
  for (const segment of segments)
    limits.anonymous(route, `${route.path}/whatsapp/${segment}/line`, '203.0.113.1')
  const keys = counters.flatMap((counter) =>
    counter.drain().map(({ key }) => `${counter.policy.name} ${key}`),
  )
  expect(keys).toEqual([
    'webhook slug acme from 203.0.113.1',
    'webhook slug  from 203.0.113.1',
    'webhook_address 203.0.113.1',
  ])
})

describe('instances', () => {
  const policy = { name: 'x', quota: 10, windowSeconds: 86_400 }
  const log = createLog({ service: 'test', level: 'silent' })
  const open: { close(): Promise<void> }[] = []
  const connections: Redis[] = []
  const instanceAt = (url: string) => {
    const redis = connectRedis(url, log)
    const counter = createRateCounter(policy)
    connections.push(redis)
    open.push(settleRegularly([counter], createRedisCount(redis)))
    return { counter, redis }
  }
  afterAll(async () => {
    await Promise.all(open.map((settling) => settling.close()))
    for (const redis of connections) redis.disconnect()
  })

  test('share a quota through Redis', async () => {
    const { redisUrl } = await testServers()
    const [one, other] = [instanceAt(redisUrl), instanceAt(redisUrl)]
    const ready = () => one.redis.status === 'ready' && other.redis.status === 'ready'
    expect(await waitUntil(ready, { timeoutMs: 30_000 })).toBe(true)
    for (let i = 0; i < policy.quota; i++) one.counter.take('shared')
    // The other instance reads it when it settles its own first request.
    expect(
      await waitUntil(() => isFull(other.counter, 'shared'), { timeoutMs: 30_000, intervalMs: 20 }),
    ).toBe(true)
    expect(isFull(one.counter, 'shared')).toBe(true)
    const [key] = await one.redis.keys('rate:x:*:shared')
    expect(await one.redis.pttl(String(key))).toBeGreaterThan(0)
  })

  test('ask Redis once for what is counted within 100 ms, and again for what comes later', async () => {
    const counter = createRateCounter(policy)
    const asked: number[] = []
    const add = async ({ count }: { count: number }) => {
      asked.push(count)
      return count
    }
    const settling = settleRegularly([counter], { add })
    for (let i = 0; i < 3; i++) counter.take('a')
    expect(await waitUntil(() => asked.length === 1, { timeoutMs: 5_000 })).toBe(true)
    counter.take('a')
    expect(await waitUntil(() => asked.length === 2, { timeoutMs: 5_000 })).toBe(true)
    expect(asked).toEqual([3, 1])
    await settling.close()
  })

  test('count alone without Redis', () => {
    const { counter } = instanceAt('redis://127.0.0.1:1')
    for (let i = 0; i < policy.quota; i++) expect(isFull(counter, 'alone')).toBe(false)
    expect(isFull(counter, 'alone')).toBe(true)
  })
})

describe('the gateway', () => {
  const system = systemForTests({
    RATE_CREDENTIALS_PER_MINUTE: '12',
    RATE_TOKEN_PER_MINUTE: '20',
    RATE_ADDRESS_PER_MINUTE: '40',
    RATE_WEBHOOK_PER_SECOND: '5',
    RATE_WEBHOOK_ADDRESS_PER_SECOND: '20',
    TRUSTED_PROXIES: '127.0.0.0/8',
  })

  const from = (address: string) => ({ 'x-forwarded-for': address })
  const loginFrom = (address: string) =>
    system.call('POST', '/api/auth/login', {
      body: { email: 'nobody@example.com', password: 'x' },
      headers: from(address),
    })
  /** Repeats until the response is 429; a new window may begin meanwhile. */
  const untilLimited = async (quota: number, call: () => Promise<JsonResponse>) => {
    for (let i = 0; i <= 2 * quota; i++) {
      const response = await call()
      if (response.status === 429) return { response, after: i }
    }
    throw new Error('never limited')
  }

  test('limits logins from one address, and sends how long to wait', async () => {
    const { response, after } = await untilLimited(12, () => loginFrom('203.0.113.1'))
    expect(after).toBeGreaterThanOrEqual(12)
    expect(response.json.code).toBe('rate_limited')
    const seconds = Number(response.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(60)
    expect(response.headers.get('ratelimit-policy')).toBe('"credentials";q=12;w=60')
    expect(response.headers.get('ratelimit')).toBe(`"credentials";r=0;t=${seconds}`)
    expect((await loginFrom('203.0.113.2')).status).toBe(401)
    expect((await loginFrom('203.0.113.1, 203.0.113.3')).status).toBe(401)
    const body = newRegistration()
    const headers = from('203.0.113.1')
    expect((await system.call('POST', '/api/auth/register', { body, headers })).status).toBe(429)
  })

  test('limits requests with one token', async () => {
    const [{ accessToken }, other] = [await system.register(), await system.register()]
    const { response, after } = await untilLimited(20, () =>
      system.call('GET', '/rest/jobs', { token: accessToken }),
    )
    expect(after).toBeGreaterThanOrEqual(20)
    expect(response.headers.get('ratelimit-policy')).toBe('"token";q=20;w=60')
    expect((await system.call('GET', '/rest/jobs', { token: other.accessToken })).status).toBe(200)
  })

  test('limits unknown tokens by address', async () => {
    const call = () =>
      system.call('GET', '/rest/jobs', { token: 'bad.token.here', headers: from('203.0.113.9') })
    const { response } = await untilLimited(40, call)
    expect(response.headers.get('ratelimit-policy')).toBe('"address";q=40;w=60')
  })

  test.each([
    ['unknown paths', 'GET', '/rest/nothing', '203.0.113.10'],
    ['methods that a path does not have', 'PATCH', '/api/auth/login', '203.0.113.11'],
    ['methods that a page does not have', 'PATCH', '/docs', '203.0.113.13'],
    ['methods that the console does not have', 'PATCH', '/console', '203.0.113.14'],
    ['files that the console does not have', 'GET', '/console/assets/nothing', '203.0.113.15'],
    ['bodies that say they are too large', 'POST', '/api/auth/login', '203.0.113.12'],
  ])('limits requests for %s by address', async (_name, method, path, address) => {
    const raw = method === 'POST' ? 'x'.repeat(70_000) : undefined
    const call = () => system.call(method, path, { ...defined({ raw }), headers: from(address) })
    const { response, after } = await untilLimited(40, call)
    expect(after).toBeGreaterThanOrEqual(40)
    expect(response.headers.get('ratelimit-policy')).toBe('"address";q=40;w=60')
  })

  test('gives the webhook a limit of its own, by workspace', async () => {
    const { accessToken, workspace } = await system.register()
    const post = (path: string, token?: string) =>
      system.call('POST', path, { body: {}, ...defined({ token }) })
    const hammer = async (path: string, token?: string) =>
      (await Promise.all(Array.from({ length: 70 }, () => post(path, token)))).filter(
        ({ status }) => status === 429,
      )
    const [limited] = await hammer('/api/hooks/whatsapp', accessToken)
    expect(limited?.headers.get('ratelimit-policy')).toBe('"webhook";q=5;w=1')
    const slug = workspace.host.split('.')[0]
    expect((await hammer(`/api/hooks/whatsapp/${slug}/line`)).length).toBeGreaterThan(0)
  })

  test('counts unsigned requests apart from those of the provider', async () => {
    const { workspace } = await system.register()
    const path = `/api/hooks/whatsapp/${workspace.host.split('.')[0]}/line`
    const post = (address: string) => system.call('POST', path, { body: {}, headers: from(address) })
    const attack = async () => Promise.all(Array.from({ length: 70 }, () => post('203.0.113.66')))
    const [attacked, provider] = await Promise.all([attack(), post('203.0.113.67')])
    expect(attacked.filter(({ status }) => status === 429).length).toBeGreaterThan(0)
    expect(provider.status).not.toBe(429)
  })

  test('limits requests of one address to whatever slugs', async () => {
    const call = (_: unknown, n: number) =>
      system.call('GET', `/api/hooks/whatsapp/acme-${n}/line`, { headers: from('203.0.113.77') })
    const responses = await Promise.all(Array.from({ length: 120 }, call))
    const limited = responses.find(({ status }) => status === 429)
    expect(limited?.headers.get('ratelimit-policy')).toBe('"webhook_address";q=20;w=1')
  })
})
