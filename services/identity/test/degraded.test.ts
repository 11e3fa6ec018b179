import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeServiceKeys, namedSecret } from '@parley/local/testing/service-under-test'
import { HashPool } from '../src/passwords/passwords.ts'
import { type IdentityServer, newRegistration, startIdentity } from './identity-server.ts'

const keys = makeServiceKeys()
let identity: IdentityServer
let pool: HashPool

beforeAll(async () => {
  pool = new HashPool()
  identity = await startIdentity(keys, {
    NODE_ENV: 'test',
    PORT: '0',
    SERVICE_KEY: JSON.stringify(keys.own.identity),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
    MONGO_URL: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500',
    PEPPERS: namedSecret('p1'),
    KEY_ENCRYPTION_KEYS: namedSecret('k1'),
    BCRYPT_COST: '4',
  })
})
afterAll(async () => {
  await pool.close()
  await identity.close()
})

test('without its database the service says so, in bounded time', async () => {
  const started = performance.now()
  const responses = await Promise.all([
    identity.call('POST', '/api/auth/register', { body: newRegistration() }),
    identity.call('POST', '/api/auth/login', { body: { username: 'x', password: 'x' } }),
    identity.call('GET', '/.well-known/jwks.json'),
  ])
  expect(performance.now() - started).toBeLessThan(6_000)
  for (const { status, headers, json } of responses) {
    expect([status, json.code]).toEqual([503, 'unavailable'])
    expect(headers.get('retry-after')).toBe('1')
  }
  const ready = await identity.call('GET', '/health/ready')
  expect(ready.status).toBe(503)
  expect(ready.json.dependencies.mongodb).toBe('down')
  expect((await identity.call('GET', '/health/live')).status).toBe(200)
})

test('a flood of passwords is refused and does not stall the event loop', async () => {
  let slowest = 0
  let last = performance.now()
  const ticker = setInterval(() => {
    slowest = Math.max(slowest, performance.now() - last)
    last = performance.now()
  }, 5)
  const settled = await Promise.allSettled(Array.from({ length: 300 }, () => pool.hash('x', 7)))
  clearInterval(ticker)
  const refused = settled.filter(({ status }) => status === 'rejected')
  expect(refused.length).toBeGreaterThan(10)
  for (const { reason } of refused as PromiseRejectedResult[]) expect(reason.code).toBe('unavailable')
  expect(settled.length - refused.length).toBeGreaterThanOrEqual(256)
  expect(slowest).toBeLessThan(1_500)
})

test('what would be unsafe in production is refused', async () => {
  const environment = {
    NODE_ENV: 'production',
    PORT: '0',
    SERVICE_KEY: JSON.stringify(keys.own.identity),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
    MONGO_URL: 'mongodb://127.0.0.1:1/',
    PEPPERS: namedSecret('p1'),
    KEY_ENCRYPTION_KEYS: namedSecret('k1'),
    BCRYPT_COST: '4',
  }
  await expect(startIdentity(keys, environment)).rejects.toThrow(/BASE_DOMAIN[\s\S]*BCRYPT_COST/)
  const { PEPPERS: _none, ...without } = environment
  await expect(startIdentity(keys, without)).rejects.toThrow('PEPPERS')
  const example = `p1:${Buffer.alloc(32, 'example').toString('base64')}`
  await expect(startIdentity(keys, { ...environment, PEPPERS: example })).rejects.toThrow(
    'PEPPERS: is not random',
  )
})
