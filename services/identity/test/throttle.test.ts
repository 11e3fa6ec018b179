import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { testServers } from '@parley/local/testing/test-servers'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import type { Redis } from 'ioredis'
import { createThrottle, delayOf } from '../src/throttle/throttle.ts'
import {
  dropIdentity,
  type IdentityServer,
  identityEnvironment,
  makeServiceKeys,
  newRegistration,
  startIdentity,
  untilReady,
} from './identity-server.ts'

const log = createLog({ service: 'test', level: 'silent' })
const timed = async (work: () => Promise<unknown>) => {
  const started = performance.now()
  await work()
  return performance.now() - started
}

test('the delay doubles from the first try that is not free, up to four seconds', () => {
  const delays = [1, 5, 6, 7, 8, 9, 10, 11, 1_000_000].map((tries) => delayOf(tries, 5))
  expect(delays).toEqual([0, 0, 250, 500, 1_000, 2_000, 4_000, 4_000, 4_000])
})

describe('a throttle', () => {
  let redis: Redis
  beforeAll(async () => {
    redis = connectRedis((await testServers()).redisUrl, log)
    expect(await waitUntil(() => redis.status === 'ready', { timeoutMs: 5_000 })).toBe(true)
  }, 150_000)
  afterAll(() => redis.disconnect())

  test('is shared by all copies through Redis, and forgives', async () => {
    const copies = [1, 2].map(() => createThrottle({ name: 'shared', free: 2, redis }))
    for (const copy of copies) expect(await timed(() => copy.slowDown('ana'))).toBeLessThan(200)
    expect(await timed(() => copies[0]!.slowDown('ana'))).toBeGreaterThan(240)
    expect(await timed(() => copies[1]!.slowDown('bea'))).toBeLessThan(200)
    await copies[1]!.forgive('ana')
    expect(await timed(() => copies[0]!.slowDown('ana'))).toBeLessThan(200)
    expect(JSON.stringify(await redis.keys('throttle:shared*'))).not.toMatch(/ana|bea/)
  })

  test('works on without Redis', async () => {
    const away = connectRedis('redis://127.0.0.1:1', log)
    const throttle = createThrottle({ name: 'away', free: 1, redis: away })
    expect(await timed(() => throttle.slowDown('x'))).toBeLessThan(200)
    expect(await timed(() => throttle.slowDown('x'))).toBeGreaterThan(240)
    await throttle.forgive('x')
    away.disconnect()
  })

  test('lets only so many wait', async () => {
    const throttle = createThrottle({ name: 'many', free: 1, redis: undefined })
    const settled = await Promise.allSettled(Array.from({ length: 230 }, () => throttle.slowDown('x')))
    const refused = settled.filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(29)
    for (const { reason } of refused as PromiseRejectedResult[]) expect(reason.code).toBe('rate_limited')
  })
})

describe('login', () => {
  const keys = makeServiceKeys()
  let identity: IdentityServer
  beforeAll(async () => {
    const { redisUrl } = await testServers()
    const environment = { ...(await identityEnvironment(keys)), REDIS_URL: redisUrl, FREE_LOGIN_TRIES: '2' }
    identity = await startIdentity(keys, environment)
    await untilReady(identity.url)
  }, 150_000)
  afterAll(() => dropIdentity(identity))

  const login = (email: string, password: string) =>
    identity.call('POST', '/api/auth/login', { body: { email, password } })

  test('slows down for one account, known or not, and never locks it', async () => {
    const user = newRegistration()
    await identity.call('POST', '/api/auth/register', { body: user })
    for (const email of [user.email, 'nobody@example.com']) {
      const free = await timed(async () => {
        for (let i = 0; i < 2; i++) expect((await login(email, 'wrong')).status).toBe(401)
      })
      const slow = await timed(async () => expect((await login(email, 'wrong')).status).toBe(401))
      expect(slow).toBeGreaterThan(240)
      expect(free).toBeLessThan(2_000)
    }
    expect((await login(user.email, user.password)).status).toBe(200)
    expect(await timed(() => login(user.email, 'wrong'))).toBeLessThan(240)
  })

  test('so do refreshing and registering, for one address', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': address })
    const refresh = (address: string) =>
      identity.call('POST', '/api/auth/refresh', { body: { refreshToken: 'x' }, headers: from(address) })
    const free = 2 * 40
    for (let i = 0; i < free; i++) expect((await refresh('203.0.113.9')).status).toBe(401)
    expect(await timed(() => refresh('203.0.113.9'))).toBeGreaterThan(240)
    const register = { body: newRegistration(), headers: from('203.0.113.9') }
    expect(await timed(() => identity.call('POST', '/api/auth/register', register))).toBeGreaterThan(480)
    expect(await timed(() => refresh('203.0.113.10'))).toBeLessThan(240)
  })
})
