import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { testServers } from '@parley/local/testing/test-servers'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import type { Redis } from 'ioredis'
import {
  CROWDED,
  createThrottle,
  createWaitingRoom,
  delayOf,
  MAX_WAITING_OF_ADDRESS,
  type WaitingRoom,
} from '../src/throttles.ts'
import { newRegistration, startIdentity } from './identity-server.ts'

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
    expect(await waitUntil(() => redis.status === 'ready', { timeoutMs: 30_000 })).toBe(true)
  })
  afterAll(() => redis.disconnect())

  test('is shared by all instances through Redis, and forgives', async () => {
    const [first, second] = [1, 2].map(() => createThrottle({ name: 'shared', free: 2, redis }))
    expect([await first!.count('ana'), await second!.count('ana')]).toEqual([0, 0])
    expect([await first!.count('ana'), await second!.count('bea')]).toEqual([250, 0])
    await second!.forgive('ana')
    expect(await first!.count('ana')).toBe(0)
    expect(JSON.stringify(await redis.keys('throttle:shared*'))).not.toMatch(/ana|bea/)
  })

  test('works on without Redis', async () => {
    const unavailable = connectRedis('redis://127.0.0.1:1', log)
    const throttle = createThrottle({ name: 'alone', free: 1, redis: unavailable })
    expect([await throttle.count('x'), await throttle.count('x')]).toEqual([0, 250])
    await throttle.forgive('x')
    unavailable.disconnect()
  })
})

describe('the waiting room', () => {
  const WAIT_MS = 1_500
  const settle = (room: WaitingRoom, addresses: string[]) =>
    Promise.allSettled(addresses.map((address) => room.wait(address, WAIT_MS)))
  const refusedIn = (settled: PromiseSettledResult<void>[]) =>
    settled.filter((one) => one.status === 'rejected' && one.reason.code === 'rate_limited').length

  test('lets only so many of one address wait', async () => {
    const room = createWaitingRoom()
    const addresses = Array.from({ length: MAX_WAITING_OF_ADDRESS + 9 }, () => '203.0.113.1')
    expect(refusedIn(await settle(room, addresses))).toBe(9)
    expect(refusedIn(await settle(room, ['203.0.113.1']))).toBe(0)
  })

  test('has a place for another address, however many wait', async () => {
    const room = createWaitingRoom()
    const crowd = Array.from({ length: CROWDED }, (_, at) => `203.0.113.${at % 150}`)
    const waiting = settle(room, crowd)
    expect(refusedIn(await settle(room, ['198.51.100.7', '203.0.113.1']))).toBe(1)
    expect(refusedIn(await waiting)).toBe(0)
  })
})

describe('login', () => {
  const identity = startedForTests(async () => {
    const { redisUrl } = await testServers()
    return startIdentity({ REDIS_URL: redisUrl, FREE_LOGIN_TRIES: '2' })
  })
  const login = (email: string, password: string) => identity.login({ email, password })

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
    await login(user.email, 'wrong')
    expect((await login(user.email, user.password)).status).toBe(200)
    // One that is not forgiven would be delayed by 2 s.
    expect(await timed(() => login(user.email, 'wrong'))).toBeLessThan(1_500)
  })

  test('of a victim goes through while two hundred others for their account wait', async () => {
    const user = newRegistration()
    await identity.call('POST', '/api/auth/register', { body: user })
    const from = (address: string, password: string) =>
      identity.call('POST', '/api/auth/login', {
        body: { email: user.email, password },
        headers: { 'x-forwarded-for': address },
      })
    const attack = Array.from({ length: 220 }, (_, at) => from(`198.51.100.${at % 2}`, 'wrong'))
    const own = await from('203.0.113.77', user.password)
    expect(own.status).toBe(200)
    const statuses = (await Promise.all(attack)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(150)
  })

  test('counts addresses of one IPv6 network together', async () => {
    const from = (address: string) =>
      identity.call('POST', '/api/auth/refresh', {
        body: { refreshToken: 'x' },
        headers: { 'x-forwarded-for': address },
      })
    for (let at = 0; at < 2 * 40; at++) await from(`2001:db8:0:1::${at}`)
    for (const delay of [250, 500, 1_000])
      expect(await timed(() => from('2001:db8:0:1::ffff'))).toBeGreaterThan(delay - 10)
    // The next one of that network would be delayed by 2 s.
    expect(await timed(() => from('2001:db8:0:2::1'))).toBeLessThan(1_500)
  })

  test('is slowed down where a password is changed or a token is made with one', async () => {
    const { json: registered } = await identity.call('POST', '/api/auth/register', {
      body: newRegistration(),
    })
    const guess = (path: string, body: object) =>
      identity.callWith(registered.accessToken, 'POST', path, { ...body, currentPassword: 'wrong' })
    for (const [path, body] of [
      ['/api/auth/password', { newPassword: 'x' }],
      ['/api/auth/tokens', { name: 'x', role: 'VIEWER' }],
    ] as const) {
      for (let at = 0; at < 2; at++) expect((await guess(path, body)).status).toBe(401)
      expect(await timed(() => guess(path, body))).toBeGreaterThan(240)
    }
  })

  test('so do refreshing, registering and logging out, for one address', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': address })
    const refresh = (address: string) =>
      identity.call('POST', '/api/auth/refresh', { body: { refreshToken: 'x' }, headers: from(address) })
    const free = 2 * 40
    for (let i = 0; i < free; i++) expect((await refresh('203.0.113.9')).status).toBe(401)
    expect(await timed(() => refresh('203.0.113.9'))).toBeGreaterThan(240)
    const register = { body: newRegistration(), headers: from('203.0.113.9') }
    expect(await timed(() => identity.call('POST', '/api/auth/register', register))).toBeGreaterThan(480)
    const logout = { body: { refreshToken: 'x' }, headers: from('203.0.113.9') }
    expect(await timed(() => identity.call('POST', '/api/auth/logout', logout))).toBeGreaterThan(960)
    // The next one of that address would be delayed by 2 s.
    expect(await timed(() => refresh('203.0.113.10'))).toBeLessThan(1_500)
  })
})
