import { beforeAll, describe, expect, test } from '@jest/globals'
import { namedSecret, type Parsed } from '@parley/local/testing/service-under-test'
import { createInternalSigner } from '@parley/shared/internal-token'
import bcrypt from 'bcryptjs'
import { HashPool } from '../src/passwords/passwords.ts'
import { preferencesOf } from '../src/store/preferences.ts'
import { claimsOf, identityForTests, newRegistration } from './identity-server.ts'

const PEPPERS = namedSecret('p1')
const identity = identityForTests({ PEPPERS })
const user = newRegistration({ email: 'Ana@example.com', namespace: 'Acme' })
let registered: Parsed

beforeAll(async () => {
  registered = (await identity.call('POST', '/api/auth/register', { body: user })).json
})

const login = (body: unknown) => identity.call('POST', '/api/auth/login', { body })

describe('login', () => {
  test.each([
    { username: 'Ana@example.com' },
    { username: 'ANA@EXAMPLE.COM' },
    { email: 'ana@example.com' },
    { email: 'ana@example.com', username: null, namespace: 'Acme' },
  ])('takes %j', async (who) => {
    const { status, headers, json } = await login({ ...who, password: user.password })
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(json).toEqual({
      accessToken: expect.any(String),
      tokenType: 'Bearer',
      expiresAt: expect.any(String),
      refreshToken: expect.stringMatching(/^[\w-]{43}$/),
    })
    const lifetime = Date.parse(json.expiresAt) - Date.now()
    expect(lifetime).toBeGreaterThan(890_000)
    expect(lifetime).toBeLessThanOrEqual(900_000)
  })

  test('responds equally to a wrong password, an unknown user and another namespace', async () => {
    const responses = await Promise.all([
      login({ username: user.email, password: 'wrong' }),
      login({ username: 'nobody@example.com', password: user.password }),
      login({ username: user.email, password: user.password, namespace: 'Globex' }),
    ])
    for (const { status, headers, json } of responses) {
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toMatch(/^Bearer/)
      const { requestId, ...rest } = json
      expect(rest).toEqual({
        type: '/docs/errors/invalid_credentials',
        title: 'The user name or the password is wrong',
        status: 401,
        instance: '/api/auth/login',
        code: 'invalid_credentials',
      })
    }
  })

  test('does the same hashing for a wrong password, an unknown user and another namespace', async () => {
    const hashes: string[] = []
    const { compare } = HashPool.prototype
    HashPool.prototype.compare = function (...given) {
      hashes.push(given[1])
      return compare.apply(this, given)
    }
    try {
      await login({ username: user.email, password: 'wrong' })
      await login({ username: 'nobody@example.com', password: 'wrong' })
      await login({ username: user.email, password: 'wrong', namespace: 'Globex' })
    } finally {
      HashPool.prototype.compare = compare
    }
    expect(hashes.map((hash) => [bcrypt.getRounds(hash), hash.length])).toEqual(Array(3).fill([4, 60]))
  })

  test.each([{ password: 'x' }, { username: 'x' }, { username: 1, password: 'x' }, []])(
    'refuses %j',
    async (body) => {
      expect((await login(body)).status).toBe(422)
    },
  )

  test('hashes a password anew when pepper and cost have changed', async () => {
    const own = newRegistration()
    await identity.call('POST', '/api/auth/register', { body: own })
    const stored = async () =>
      identity.database
        .collection('accounts')
        .findOne({ username: own.email }, { projection: { pepper: 1, passwordHash: 1 } })
    expect(await stored()).toMatchObject({ pepper: 'p1', passwordHash: expect.stringMatching(/^\$2b\$04/) })
    const newPeppers = `${namedSecret('p2')},${PEPPERS}`
    const later = await identity.startInstance({ PEPPERS: newPeppers, BCRYPT_COST: '5' })
    const again = () => later.login(own)
    expect((await again()).status).toBe(200)
    expect(await stored()).toMatchObject({ pepper: 'p2', passwordHash: expect.stringMatching(/^\$2b\$05/) })
    expect((await again()).status).toBe(200)
  })

  test('stores no token that could be used from the database alone', async () => {
    const { json } = await login({ username: user.email, password: user.password })
    for (const { name } of await identity.database.listCollections().toArray()) {
      const stored = JSON.stringify(await identity.database.collection(name).find().toArray())
      expect(stored).not.toContain(json.refreshToken)
      expect(stored).not.toContain(json.accessToken)
    }
  })
})

describe('the current user', () => {
  const signerOf = (name: 'gateway' | 'webhook') => createInternalSigner(identity.keys.own[name])
  const callerWith = (role: object) => ({
    account: { _id: registered._id, username: '', name: '', profile: 0, context: {} },
    workspace: { _id: registered.workspace._id, name: '', namespace: '', host: '' },
    role: { _id: registered.role, name: '', version: 1, ...role },
  })
  const me = (token: string, options: { body?: unknown; raw?: string } = {}) =>
    identity.call('POST', '/api/auth/me', { ...options, headers: { authorization: `Bearer ${token}` } })

  test('comes from the database, with the role’s permissions and without the hash', async () => {
    const { status, json } = await me(
      signerOf('gateway').sign({ audience: 'identity', caller: callerWith({}) }),
      {
        body: {},
      },
    )
    expect(status).toBe(200)
    const { passwordHash, salt, ...account } = registered.account
    expect(json).toEqual({
      ...account,
      workspace: registered.workspace,
      role: {
        _id: registered.role,
        name: 'WORKSPACE_ADMIN',
        version: 1,
        permissions: [
          { schema: 'true', read: '{{account.workspace._id}}', write: '{{account.workspace._id}}' },
        ],
        createdAt: registered.createdAt,
        updatedAt: registered.createdAt,
      },
      preferences: preferencesOf(),
    })
  })

  test('takes no body or any object, and nothing else', async () => {
    const token = signerOf('gateway').sign({ audience: 'identity', caller: callerWith({}) })
    expect((await me(token)).status).toBe(200)
    expect((await me(token, { body: { any: ['thing'] } })).status).toBe(200)
    expect((await me(token, { body: [] })).status).toBe(422)
    expect((await me(token, { raw: '{"a": ' })).status).toBe(400)
  })

  test('is for no one but the gateway on behalf of a caller', async () => {
    const refused = [
      signerOf('gateway').sign({ audience: 'identity' }),
      signerOf('gateway').sign({ audience: 'webhook', caller: callerWith({}) }),
      signerOf('webhook').sign({ audience: 'identity', caller: callerWith({}) }),
      registered.accessToken as string,
    ]
    for (const token of refused) expect((await me(token)).status).toBe(401)
  })
})

describe('introspection', () => {
  const ask = (body: unknown) => identity.callAs('gateway', 'POST', '/internal/introspect', body)

  test('reports to the gateway who is behind a session', async () => {
    const { sid } = claimsOf(registered.accessToken)
    const { json } = await ask({ account: registered._id, session: sid })
    expect(json).toEqual({
      active: true,
      caller: {
        account: {
          _id: registered._id,
          username: user.email,
          name: user.name,
          profile: registered.account.profile,
          context: {},
        },
        workspace: {
          _id: registered.workspace._id,
          name: 'Acme',
          namespace: 'Acme',
          host: registered.workspace.host,
        },
        role: { _id: registered.role, name: 'WORKSPACE_ADMIN', version: 1 },
        session: sid,
      },
    })
  })

  test('says no for a session that is not there, or another account’s', async () => {
    const { sid } = claimsOf(registered.accessToken)
    expect((await ask({ account: registered._id, session: 'none' })).json).toEqual({ active: false })
    expect((await ask({ account: registered._id + 1, session: sid })).json).toEqual({ active: false })
  })

  test('is the gateway’s alone', async () => {
    const body = { account: 1, session: 'x' }
    const { status } = await identity.callAs('webhook', 'POST', '/internal/introspect', body)
    expect(status).toBe(403)
    expect((await identity.call('POST', '/internal/introspect', { body })).status).toBe(401)
  })
})

describe('what services ask', () => {
  test('a version of a role', async () => {
    const path = `/internal/roles/${registered.role}/versions/1`
    const { json } = await identity.callAs('configuration', 'GET', path)
    expect(json).toMatchObject({ _id: registered.role, name: 'WORKSPACE_ADMIN', version: 1 })
    expect(json.permissions).toHaveLength(1)
    const unknown = await identity.callAs('configuration', 'GET', path.replace(/1$/, '2'))
    expect(unknown.status).toBe(404)
    expect((await identity.call('GET', path)).status).toBe(401)
  })

  test('the workspace of a slug', async () => {
    const { json } = await identity.callAs('webhook', 'GET', '/internal/workspaces/by-slug/acme')
    expect(json).toMatchObject({ _id: registered.workspace._id, slug: 'acme', status: 'active' })
    const unknown = await identity.callAs('webhook', 'GET', '/internal/workspaces/by-slug/none')
    expect(unknown.status).toBe(404)
  })
})
