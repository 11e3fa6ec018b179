import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type { PublicJwk } from '@parley/shared/config'
import { type Caller, createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { createCallers, internalTokenFor } from '../src/callers.ts'

const MINUTE = 60_000
const caller: Caller = {
  account: { _id: 1, username: 'a@example.com', name: 'Ana', profile: 1, context: {} },
  workspace: { _id: 2, name: 'Acme', namespace: 'acme', host: 'acme.example.com' },
  role: { _id: 3, name: 'MEMBER', version: 4 },
  session: 'session',
}
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = { ...pair.privateKey.export({ format: 'jwk' }), kid: 'gateway' } as PublicJwk & { d: string }

let now: number
let asked: unknown[]
let reply: () => unknown
beforeEach(() => {
  now = 1_000_000
  asked = []
  reply = () => ({ active: true, caller })
  jest.spyOn(performance, 'now').mockImplementation(() => now)
  jest.spyOn(Date, 'now').mockImplementation(() => 1_800_000_000_000 + now)
})
afterEach(() => void jest.restoreAllMocks())

const unavailable = () => {
  throw new Problem('unavailable')
}

/** Callers whose access tokens end at `endsAt` on the test's clock. */
const callersUntil = (endsAt: number) =>
  createCallers({
    accessTokens: {
      verify: async () => {
        if (now >= endsAt) throw new Problem('unauthenticated')
        return { account: 1, session: 'session', expiresAt: Date.now() + endsAt - now }
      },
    },
    identity: {
      post: async (path, body) => {
        expect(path).toBe('/internal/introspect')
        asked.push(body)
        return reply()
      },
    },
  })

describe('a caller', () => {
  test('is cached for a minute, then identity is asked again', async () => {
    const callers = callersUntil(now + 15 * MINUTE)
    expect(await callers.resolve('token')).toMatchObject({ caller, askedAt: now, internalTokens: {} })
    now += MINUTE - 1
    expect(callers.known('token')?.caller).toEqual(caller)
    now += 1
    expect(callers.known('token')).toBeUndefined()
    await callers.resolve('token')
    expect(asked).toEqual([
      { account: 1, session: 'session' },
      { account: 1, session: 'session' },
    ])
  })

  test('is not cached longer than the token is valid', async () => {
    const callers = callersUntil(now + 10_000)
    await callers.resolve('token')
    now += 10_000
    expect(callers.known('token')).toBeUndefined()
    await expect(callers.resolve('token')).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('goes on while identity is unavailable, but only until the token ends', async () => {
    const end = now + 15 * MINUTE
    const callers = callersUntil(end)
    await callers.resolve('token')
    reply = unavailable
    for (; now < end - MINUTE; now += MINUTE / 2)
      expect((callers.known('token') ?? (await callers.resolve('token'))).caller).toEqual(caller)
    now = end
    await expect(callers.resolve('token')).rejects.toMatchObject({ code: 'unauthenticated' })
    await expect(callersUntil(now + MINUTE).resolve('token')).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('with an API token goes on for 15 minutes while identity is unavailable', async () => {
    const callers = callersUntil(0)
    const token = `parley_${'x'.repeat(43)}`
    await callers.resolve(token)
    expect(asked).toEqual([{ tokenHash: expect.stringMatching(/^[\w-]{43}$/) }])
    reply = unavailable
    now += 15 * MINUTE - 1
    expect((await callers.resolve(token)).caller).toEqual(caller)
    now += 1
    await expect(callers.resolve(token)).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('with an API token that ends sooner goes on until it ends', async () => {
    const callers = callersUntil(0)
    const token = `parley_${'x'.repeat(43)}`
    const expiresAt = Date.now() + 30_000
    reply = () => ({ active: true, caller, expiresAt })
    await callers.resolve(token)
    reply = unavailable
    now += 30_000 - 1
    expect(callers.known(token)?.caller).toEqual(caller)
    now += 1
    expect(callers.known(token)).toBeUndefined()
    await expect(callers.resolve(token)).rejects.toMatchObject({ code: 'unavailable' })
  })

  test.each(['xparley_', 'parley-', 'parley_x', 'Parley_'])(
    'whose token begins with %s has no API token, and it is verified',
    async (beginning) => {
      const token = `${beginning}${'x'.repeat(43)}`
      await expect(callersUntil(0).resolve(token)).rejects.toMatchObject({ code: 'unauthenticated' })
      expect(asked).toEqual([])
    },
  )

  test('goes on for a second at a time while identity is unavailable, and identity is asked again after each', async () => {
    const callers = callersUntil(now + 15 * MINUTE)
    await callers.resolve('token')
    reply = unavailable
    now += MINUTE
    await callers.resolve('token')
    now += 1_000 - 1
    expect(callers.known('token')?.caller).toEqual(caller)
    now += 1
    expect(callers.known('token')).toBeUndefined()
    expect(asked).toHaveLength(2)
    reply = () => ({ active: true, caller: { ...caller, session: 'another' } })
    expect((await callers.resolve('token')).caller.session).toBe('another')
  })

  test('that is cached goes on when identity sends an unreadable response, and a new one is refused', async () => {
    const callers = callersUntil(now + 15 * MINUTE)
    await callers.resolve('token')
    now += MINUTE
    reply = () => ({ active: 'perhaps' })
    expect((await callers.resolve('token')).caller).toEqual(caller)
    await expect(callers.resolve('new')).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('is looked up once for all requests that wait, and again after that failed', async () => {
    const callers = callersUntil(now + 15 * MINUTE)
    reply = unavailable
    const waiting = [callers.resolve('token'), callers.resolve('token'), callers.resolve('other')]
    const results = await Promise.allSettled(waiting)
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(asked).toHaveLength(2)
    reply = () => ({ active: true, caller })
    expect((await callers.resolve('token')).caller).toEqual(caller)
    expect(asked).toHaveLength(3)
  })

  test('stays in the cache as one of the last 20,000', async () => {
    const callers = callersUntil(now + 15 * MINUTE)
    for (let count = 0; count <= 20_000; count++) await callers.resolve(`token ${count}`)
    expect(callers.known('token 0')).toBeUndefined()
    expect(callers.known('token 1')).toBeDefined()
  })

  test('that identity refuses leaves the cache at once', async () => {
    const callers = callersUntil(now + 15 * MINUTE)
    await callers.resolve('token')
    now += MINUTE
    reply = () => ({ active: false })
    await expect(callers.resolve('token')).rejects.toMatchObject({ code: 'unauthenticated' })
    reply = unavailable
    await expect(callers.resolve('token')).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('a change', () => {
  const seenAt = (kind: string, key: string, at: number) => [{ kind, key, seenAt: at }]

  test.each([
    ['account', '1'],
    ['workspace', '2'],
    ['role', '3'],
    ['session', 'session'],
    ['token', '5'],
  ])('of the %s makes the caller unknown', async (kind, key) => {
    const callers = callersUntil(now + 15 * MINUTE)
    reply = () => ({ active: true, caller: { ...caller, token: 5 } })
    await callers.resolve('token')
    callers.forget(seenAt(kind, 'other', now))
    expect(callers.known('token')).toBeDefined()
    callers.forget(seenAt(kind, key, now))
    expect(callers.known('token')).toBeUndefined()
  })

  test('that was missed removes every caller from the cache', async () => {
    const callers = callersUntil(now + 15 * MINUTE)
    for (const token of ['one', 'two']) await callers.resolve(token)
    callers.forgetAll()
    expect([callers.known('one'), callers.known('two')]).toEqual([undefined, undefined])
  })

  test('that was seen before identity was asked removes nobody', async () => {
    const callers = callersUntil(now + 15 * MINUTE)
    const before = now
    now += 1
    await callers.resolve('token')
    callers.forget(seenAt('role', '3', before))
    expect(callers.known('token')).toBeDefined()
  })

  test('that was seen while identity was being asked is applied when it is reported again', async () => {
    const callers = callersUntil(now + 15 * MINUTE)
    const resolving = callers.resolve('token')
    now += 5
    const changes = seenAt('role', '3', now)
    callers.forget(changes)
    await resolving
    now += 1_000
    callers.forget(changes)
    expect(callers.known('token')).toBeUndefined()
  })
})

test('an internal token is signed once for each service and renewed before it ends', () => {
  const options = { caller, cached: {}, signer: createInternalSigner(jwk) }
  const first = internalTokenFor('configuration', options)
  now += 44_999
  expect(internalTokenFor('configuration', options)).toBe(first)
  const other = internalTokenFor('webhook', options)
  expect(other).not.toBe(first)
  now += 1
  expect(internalTokenFor('configuration', options)).not.toBe(first)
  expect(internalTokenFor('webhook', options)).toBe(other)
  jest.restoreAllMocks()
  const { d: _private, ...published } = jwk
  const verifier = createInternalVerifier({ audience: 'dispatcher', jwks: { keys: [published] } })
  const token = internalTokenFor('dispatcher', { ...options, cached: {} })
  expect(verifier.verify(`Bearer ${token}`)).toEqual({ issuer: 'gateway', caller })
})

test('an internal token is signed again after the clock was set', () => {
  const options = { caller, cached: {}, signer: createInternalSigner(jwk) }
  const ahead = jest.spyOn(Date, 'now').mockImplementation(() => 1_800_003_600_000 + now)
  const first = internalTokenFor('configuration', options)
  expect(internalTokenFor('configuration', options)).toBe(first)
  ahead.mockImplementation(() => 1_800_003_601_000 + now)
  expect(internalTokenFor('configuration', options)).toBe(first)
  ahead.mockImplementation(() => 1_800_003_601_001 + now)
  expect(internalTokenFor('configuration', { ...options, cached: { ...options.cached } })).not.toBe(first)
  ahead.mockImplementation(() => 1_800_000_000_000 + now)
  const second = internalTokenFor('configuration', options)
  expect(second).not.toBe(first)
  expect(internalTokenFor('configuration', options)).toBe(second)
})
