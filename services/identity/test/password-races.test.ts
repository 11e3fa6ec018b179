import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { HashPool } from '../src/passwords/passwords.ts'
import { administeredWorkspace } from './administered-workspace.ts'
import { newRegistration } from './identity-server.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin, identity, login } = workspace
const { compare, hash } = HashPool.prototype
const NEW = 'new password'

let user: Parsed
beforeEach(async () => {
  user = await addUser('WORKSPACE_ADMIN')
})
afterEach(() => {
  Object.assign(HashPool.prototype, { compare, hash })
})

const change = (token: string, currentPassword: string = user.password, newPassword = NEW) =>
  as(token)('POST', '/api/auth/password', { currentPassword, newPassword })
const newToken = { name: 'x', role: 'VIEWER' }
const outcome = ({ status, json }: { status: number; json: Parsed }) => [status, json.code]
const ofUser = (collection: string, filter: object = {}) =>
  identity.database.collection(collection).countDocuments({ account: user._id, ...filter })
const openSessions = () => ofUser('sessions', { revokedAt: { $exists: false } })

/** Pauses the next comparison of a password once it is done, and those after it not. */
function pauseNextComparison() {
  const compared = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  HashPool.prototype.compare = async function (...given) {
    HashPool.prototype.compare = compare
    const result = await compare.apply(this, given)
    compared.resolve()
    await released.promise
    return result
  }
  return { compared: compared.promise, release: released.resolve }
}

describe('while a password is changed', () => {
  test('a login with the one before that was checked already starts no session', async () => {
    const comparison = pauseNextComparison()
    const thief = identity.login({ email: user.username, password: user.password })
    await comparison.compared
    expect((await change(user.token)).status).toBe(200)
    comparison.release()
    expect(outcome(await thief)).toEqual([401, 'invalid_credentials'])
    expect(await openSessions()).toBe(1)
  })

  test('a login whose password is only hashed anew meanwhile goes through', async () => {
    const comparison = pauseNextComparison()
    const slow = identity.login({ email: user.username, password: user.password })
    await comparison.compared
    const other = await identity.startInstance({ BCRYPT_COST: '5' })
    expect((await other.login({ email: user.username, password: user.password })).status).toBe(200)
    comparison.release()
    expect((await slow).status).toBe(200)
  })

  test('an API token that was asked for with the one before is not made', async () => {
    const thief = await identity.confirm(await login(user.username, user.password))
    const comparison = pauseNextComparison()
    const asked = thief('POST', '/api/auth/tokens', { ...newToken, currentPassword: user.password })
    await comparison.compared
    expect((await change(user.token)).status).toBe(200)
    comparison.release()
    expect((await asked).status).toBe(401)
    expect(await ofUser('apiTokens')).toBe(0)
  })

  test('another change with the same current password is refused', async () => {
    const thief = await login(user.username, user.password)
    const both = Promise.withResolvers<void>()
    let hashed = 0
    HashPool.prototype.hash = async function (...given) {
      if (++hashed === 2) both.resolve()
      await both.promise
      return hash.apply(this, given)
    }
    const outcomes = (await Promise.all([change(user.token), change(thief, user.password, 'stolen')])).map(
      outcome,
    )
    expect(outcomes.sort()).toEqual([
      [200, undefined],
      [401, 'invalid_credentials'],
    ])
  })

  test('nothing that is asked for at the same time outlives the change', async () => {
    for (let times = 0, password = user.password; times < 10; times++) {
      const next = `password ${times}`
      const thief = await identity.confirm(await login(user.username, password))
      const [{ status }] = await Promise.all([
        change(user.token, password, next),
        thief('POST', '/api/auth/tokens', newToken),
        thief('POST', '/api/auth/tokens', { ...newToken, currentPassword: password }),
        identity.login({ email: user.username, password }),
      ])
      expect([status, await ofUser('apiTokens'), await openSessions()]).toEqual([200, 0, 1])
      password = next
    }
  })
})

describe('an API token', () => {
  test('is not made in a session that has ended, though the gateway does not know yet', async () => {
    const thief = await identity.confirm(await login(user.username, user.password))
    expect((await change(user.token)).status).toBe(200)
    expect(outcome(await thief('POST', '/api/auth/tokens', newToken))).toEqual([401, 'unauthenticated'])
    expect(await ofUser('apiTokens')).toBe(0)
  })

  test('is not made with a token that was revoked, though the gateway does not know yet', async () => {
    const create = as(user.token)
    const { json: maker } = await create('POST', '/api/auth/tokens', {
      ...newToken,
      role: user.role,
      expiresInDays: 1,
    })
    const thief = await identity.confirm(maker.token)
    await asAdmin('DELETE', `/api/auth/tokens/${maker._id}`)
    const body = { ...newToken, currentPassword: user.password }
    expect(outcome(await thief('POST', '/api/auth/tokens', body))).toEqual([401, 'unauthenticated'])
    expect(await ofUser('apiTokens')).toBe(0)
  })
})

describe('in a session that has ended, though the gateway does not know yet', () => {
  const { namespace: _none, ...newUser } = newRegistration()
  test.each<[string, string, (own: { user: number; role: number }) => string, object]>([
    ['a user is made', 'POST', () => '/rest/users', { ...newUser, role: 'WORKSPACE_ADMIN' }],
    [
      'a user gets another role',
      'PATCH',
      ({ user: _id }) => `/rest/users/${_id}`,
      { role: 'WORKSPACE_ADMIN' },
    ],
    ['a user gets another context', 'PATCH', ({ user: _id }) => `/rest/users/${_id}`, { context: { a: 1 } }],
    ['a role is made', 'POST', () => '/rest/roles', { name: 'NEW', permissions: [] }],
    ['a role gets other permissions', 'PATCH', ({ role }) => `/rest/roles/${role}`, { permissions: [] }],
  ])('not %s', async (_what, method, pathOf, body) => {
    const viewer = await addUser('VIEWER')
    const thief = await identity.confirm(await login(user.username, user.password))
    expect((await change(user.token)).status).toBe(200)
    const path = pathOf({ user: viewer._id, role: viewer.role })
    expect(outcome(await thief(method, path, body))).toEqual([401, 'unauthenticated'])
  })
})

test('thirty logins of one account at once all go through', async () => {
  const logins = Array.from({ length: 30 }, () =>
    identity.login({ email: user.username, password: user.password }),
  )
  expect(new Set((await Promise.all(logins)).map(({ status }) => status))).toEqual(new Set([200]))
})
