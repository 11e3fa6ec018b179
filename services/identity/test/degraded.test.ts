import { expect, test } from '@jest/globals'
import { sendJson } from '@parley/local/testing/send-json'
import { makeServiceKeys, namedSecret, startService } from '@parley/local/testing/service-under-test'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { buildApp } from '../src/app.ts'
import { identityConfig } from '../src/config.ts'
import { createPasswords, HashPool } from '../src/passwords/passwords.ts'
import { newRegistration } from './identity-server.ts'

const keys = makeServiceKeys()
const ENVIRONMENT = {
  MONGO_URL: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500',
  PEPPERS: namedSecret('p1'),
  KEY_ENCRYPTION_KEYS: namedSecret('k1'),
  BCRYPT_COST: '4',
}
const start = (environment: Record<string, string>) =>
  startService({
    name: 'identity',
    config: identityConfig,
    build: buildApp,
    keys,
    environment,
    servers: 'unavailable',
  })
const identity = startedForTests(() => start(ENVIRONMENT))
const hashing = startedForTests(async () => {
  const pool = new HashPool()
  const peppers = { current: { id: 'p', secret: Buffer.alloc(32) }, secret: () => undefined }
  const hash = createPasswords({ peppers, cost: 5, pool }).hash
  return { hash, close: () => pool.close() }
})
const call = (method: string, path: string, body?: object) => sendJson(identity.url + path, method, { body })

test('without its database the service says so, in bounded time', async () => {
  const started = performance.now()
  const responses = await Promise.all([
    call('POST', '/api/auth/register', newRegistration()),
    call('POST', '/api/auth/login', { username: 'x', password: 'x' }),
    call('GET', '/.well-known/jwks.json'),
  ])
  expect(performance.now() - started).toBeLessThan(6_000)
  for (const { status, headers, json } of responses) {
    expect([status, json.code]).toEqual([503, 'unavailable'])
    expect(headers.get('retry-after')).toBe('1')
  }
  const ready = await call('GET', '/health/ready')
  expect(ready.status).toBe(503)
  expect(ready.json.dependencies.mongodb).toBe('down')
  expect((await call('GET', '/health/live')).status).toBe(200)
})

test('a flood of passwords is refused and does not stall the event loop', async () => {
  let slowest = 0
  let last = performance.now()
  const ticker = setInterval(() => {
    slowest = Math.max(slowest, performance.now() - last)
    last = performance.now()
  }, 5)
  const settled = await Promise.allSettled(
    Array.from({ length: 300 }, () => hashing.hash('x', ['192.0.2.1'])),
  )
  clearInterval(ticker)
  const refused = settled.filter(({ status }) => status === 'rejected')
  expect(refused.length).toBeGreaterThan(10)
  for (const { reason } of refused as PromiseRejectedResult[]) expect(reason.code).toBe('rate_limited')
  expect(settled.length - refused.length).toBeGreaterThanOrEqual(256)
  expect(slowest).toBeLessThan(1_500)
})

test('passwords of one address are hashed in turns with those of others', async () => {
  const sequence: string[] = []
  const hash = (by: string) => hashing.hash('x', [by]).then(() => sequence.push(by))
  const flood = Promise.all(Array.from({ length: 200 }, () => hash('192.0.2.1')))
  await Promise.all([hash('192.0.2.2'), hash('192.0.2.3')])
  expect(sequence.length).toBeLessThan(20)
  await flood
})

test('a mail server is refused without an address to send from and one to lead to', async () => {
  const environment = { ...ENVIRONMENT, SMTP_URL: 'smtp://127.0.0.1:25', MAIL_FROM: 'parley@example.com' }
  await expect(start(environment)).rejects.toThrow('SMTP_URL: MAIL_FROM and PUBLIC_URL')
})

test('what would be unsafe in production is refused', async () => {
  const environment = { ...ENVIRONMENT, NODE_ENV: 'production' }
  await expect(start(environment)).rejects.toThrow(/BASE_DOMAIN[\s\S]*BCRYPT_COST/)
  const { PEPPERS: _none, ...without } = environment
  await expect(start(without)).rejects.toThrow('PEPPERS')
  const example = `p1:${Buffer.alloc(32, 'example').toString('base64')}`
  await expect(start({ ...environment, PEPPERS: example })).rejects.toThrow('PEPPERS: is not random')
})
