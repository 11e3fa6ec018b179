import { beforeEach, describe, expect, test } from '@jest/globals'
import { tokenHash } from '../src/store/session.ts'
import { claimsOf, identityForTests, newRegistration } from './identity-server.ts'

const identity = identityForTests()
let user: ReturnType<typeof newRegistration>
let first: string

beforeEach(async () => {
  user = newRegistration()
  await identity.call('POST', '/api/auth/register', { body: user })
  first = await login()
})

const login = async () => (await identity.login(user)).json.refreshToken as string
const refresh = (refreshToken: unknown) =>
  identity.call('POST', '/api/auth/refresh', { body: { refreshToken } })
const expectEnded = async (token: string) => {
  const { status, json } = await refresh(token)
  expect([status, json.code]).toEqual([401, 'invalid_refresh_token'])
}
const sidOf = (token: string) => claimsOf(token).sid

describe('refresh', () => {
  test('trades a token for its successor, in the same session', async () => {
    const one = await refresh(first)
    expect(one.status).toBe(200)
    expect(one.headers.get('cache-control')).toBe('no-store')
    expect(Object.keys(one.json).sort()).toEqual(['accessToken', 'expiresAt', 'refreshToken', 'tokenType'])
    const two = await refresh(one.json.refreshToken)
    expect(two.status).toBe(200)
    expect(sidOf(two.json.accessToken)).toBe(sidOf(one.json.accessToken))
    expect(new Set([first, one.json.refreshToken, two.json.refreshToken]).size).toBe(3)
  })

  test('sent many times at once, gets one and the same successor', async () => {
    const responses = await Promise.all(Array.from({ length: 50 }, () => refresh(first)))
    expect(responses.map(({ status }) => status)).toEqual(Array(50).fill(200))
    expect(new Set(responses.map(({ json }) => json.refreshToken)).size).toBe(1)
    expect((await refresh(responses[0]!.json.refreshToken)).status).toBe(200)
  })

  test('with a token whose successor was used, ends the session', async () => {
    const { refreshToken: second } = (await refresh(first)).json
    const { refreshToken: third } = (await refresh(second)).json
    await expectEnded(first)
    await expectEnded(third)
    await expectEnded(second)
  })

  test('with a token that was used over a minute ago, ends the session', async () => {
    const { refreshToken: second } = (await refresh(first)).json
    const longAgo = new Date(Date.now() - 61_000)
    await identity.database
      .collection<{ _id: string }>('refreshTokens')
      .updateOne({ _id: tokenHash(first) }, { $set: { usedAt: longAgo } })
    await expectEnded(first)
    await expectEnded(second)
  })

  test('leaves other sessions of the account alone', async () => {
    const other = await login()
    const { refreshToken: second } = (await refresh(first)).json
    await refresh(second)
    await expectEnded(first)
    expect((await refresh(other)).status).toBe(200)
  })

  test('refuses what it never gave out', async () => {
    await expectEnded('')
    await expectEnded('x'.repeat(43))
    expect((await refresh(7)).status).toBe(422)
    expect((await refresh(undefined)).status).toBe(422)
  })
})

describe('logout', () => {
  const logout = (body: object) => identity.call('POST', '/api/auth/logout', { body })

  test('by refresh token ends that session', async () => {
    const other = await login()
    expect((await logout({ refreshToken: first })).json).toEqual({ loggedOut: true })
    await expectEnded(first)
    expect((await logout({ refreshToken: first })).status).toBe(200)
    expect((await refresh(other)).status).toBe(200)
  })

  test('everywhere ends all', async () => {
    const other = await login()
    expect((await logout({ refreshToken: first, everywhere: true })).status).toBe(200)
    await expectEnded(first)
    await expectEnded(other)
  })

  test('of a session that has ended already ends no other, and is no change', async () => {
    const other = await login()
    const changes = identity.database.collection('changes')
    await logout({ refreshToken: first })
    const before = await changes.countDocuments()
    for (const everywhere of [false, true])
      expect((await logout({ refreshToken: first, everywhere })).json).toEqual({ loggedOut: true })
    expect(await changes.countDocuments()).toBe(before)
    expect((await refresh(other)).status).toBe(200)
  })

  test('twenty times at once is one change', async () => {
    const changes = identity.database.collection('changes')
    const before = await changes.countDocuments()
    await Promise.all(Array.from({ length: 20 }, () => logout({ refreshToken: first })))
    expect(await changes.countDocuments()).toBe(before + 1)
  })

  test('says the same of a token that nobody knows, and needs one', async () => {
    expect((await logout({ refreshToken: 'x' })).json).toEqual({ loggedOut: true })
    expect((await logout({})).status).toBe(401)
  })
})

describe('changes', () => {
  const changesSince = async (since: number | string) =>
    (await identity.callAs('gateway', 'GET', `/internal/changes?since=${since}`)).json

  test('are reported to the gateway for ten seconds, from the moment on at which they take effect', async () => {
    const { now, complete } = await changesSince(0)
    expect(complete).toBe(true)
    await identity.call('POST', '/api/auth/logout', { body: { refreshToken: first } })
    for (const since of [now, now, Date.now(), 0, 'x']) {
      const { changes } = await changesSince(since)
      expect(changes).toContainEqual({ id: expect.any(String), kind: 'session', key: expect.any(String) })
    }
  })

  test('of one and the same are reported as one, which is another with each further change', async () => {
    const at = Date.now()
    const stored = Array.from({ length: 5_001 }, (_, age) => ({
      at: new Date(at - age),
      kind: 'account',
      key: 'same',
    }))
    const { insertedIds } = await identity.database.collection('changes').insertMany(stored)
    const reported = async () => {
      const { complete, changes } = await changesSince(at)
      expect(complete).toBe(true)
      return changes.filter(({ key }: { key: string }) => key === 'same')
    }
    const same = { kind: 'account', key: 'same' }
    expect(await reported()).toEqual([{ id: String(insertedIds[0]), ...same }])
    const later = { at: new Date(at + 1), ...same }
    const { insertedId } = await identity.database.collection('changes').insertOne(later)
    expect(await reported()).toEqual([{ id: String(insertedId), ...same }])
  })

  test('that are too long ago to be known are said to be incomplete', async () => {
    expect((await changesSince(Date.now() - 86_400_000)).complete).toBe(false)
  })

  test('are nobody else’s business', async () => {
    expect((await identity.callAs('webhook', 'GET', '/internal/changes?since=0')).status).toBe(403)
  })
})

describe('a session', () => {
  const DAY_MS = 86_400_000
  const age = async (days: number) => {
    const account = (await identity.database.collection('accounts').findOne({ username: user.email }))?._id
    const createdAt = new Date(Date.now() - days * DAY_MS)
    await identity.database.collection('sessions').updateMany({ account }, { $set: { createdAt } })
    return { account, ends: createdAt.getTime() + 90 * DAY_MS }
  }

  test('is not prolonged beyond 90 days after its login', async () => {
    const { account, ends } = await age(80)
    const { status, json } = await refresh(first)
    expect(status).toBe(200)
    const refreshToken = await identity.database
      .collection<{ _id: string; expiresAt: Date }>('refreshTokens')
      .findOne({ _id: tokenHash(json.refreshToken) })
    expect(refreshToken?.expiresAt.getTime()).toBe(ends)
    await age(90)
    await expectEnded(json.refreshToken)
    const question = { account, session: sidOf(json.accessToken) }
    const { json: response } = await identity.callAs('gateway', 'POST', '/internal/introspect', question)
    expect(response).toEqual({ active: false })
  })
})
