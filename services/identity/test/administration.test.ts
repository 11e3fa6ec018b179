import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import {
  dropIdentity,
  type IdentityServer,
  identityEnvironment,
  makeServiceKeys,
  newRegistration,
  startIdentity,
  untilReady,
} from './identity-server.ts'

const keys = makeServiceKeys()
let identity: IdentityServer
let admin: Parsed

beforeAll(async () => {
  identity = await startIdentity(keys, await identityEnvironment(keys))
  await untilReady(identity.url)
}, 150_000)
afterAll(() => dropIdentity(identity))
beforeEach(async () => {
  admin = await identity.register()
})

const as = (token: string) => (method: string, path: string, body?: unknown) =>
  identity.callWith(token, method, path, body)
const asAdmin = (method: string, path: string, body?: unknown) => as(admin.accessToken)(method, path, body)
const login = async (email: string, password: string) => {
  const { json } = await identity.call('POST', '/api/auth/login', { body: { email, password } })
  return json.accessToken as string
}
const ALL = '{{account.workspace._id}}'

/** A further user of the admin's workspace, logged in. */
async function addUser(role: string | number) {
  const { namespace: _none, ...fields } = newRegistration()
  const { status, json } = await asAdmin('POST', '/rest/users', { ...fields, role })
  expect(status).toBe(200)
  return { ...json, token: await login(fields.email, fields.password), password: fields.password }
}

describe('users', () => {
  test('are created, read, listed, changed and deleted', async () => {
    const { namespace: _none, password, ...fields } = newRegistration()
    const created = await asAdmin('POST', '/rest/users', { ...fields, password, role: 'MEMBER' })
    const { email, ...kept } = fields
    expect(created.json).toEqual({
      _id: expect.any(Number),
      provider: 'local',
      username: email,
      ...kept,
      profile: expect.any(Number),
      workspace: admin.workspace._id,
      role: admin.role + 1,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      context: {},
    })
    const path = `/rest/users/${created.json._id}`
    expect((await asAdmin('GET', path)).json).toEqual(created.json)
    const list = (await asAdmin('GET', '/rest/users')).json
    expect(list.data.map(({ _id }: { _id: number }) => _id)).toEqual([admin._id, created.json._id])
    const context = { team: 'blue', $set: 1, 'a.b': [] }
    const changed = await asAdmin('PATCH', path, { name: 'New', role: 'VIEWER', context })
    expect(changed.json).toMatchObject({ name: 'New', role: admin.role + 2, context, phone: fields.phone })
    expect((await asAdmin('GET', path)).json).toEqual(changed.json)
    expect((await asAdmin('DELETE', path)).json).toEqual({ _id: created.json._id, deleted: true })
    expect((await asAdmin('GET', path)).status).toBe(404)
    expect(await login(email, password)).toBeUndefined()
  })

  test('and the workspace keep every key of their context, those of the language and the store too', async () => {
    const odd = `{"__proto__":{"prototype":1},"prototype":"$where","constructor":[],"~toString":{"$ref":1},
      "inner":{"prototype":"x","__proto__":2,"constructor":3},"_bsontype":"ObjectId","":{"$ref":"a","$id":1}}`
    const context = JSON.stringify(JSON.parse(odd))
    const user = await addUser('MEMBER')
    for (const path of [`/rest/users/${user._id}`, `/rest/workspaces/${admin.workspace._id}`]) {
      const changed = await asAdmin('PATCH', path, { context: JSON.parse(odd) })
      expect([changed.status, JSON.stringify(changed.json.context)]).toEqual([200, context])
      expect(JSON.stringify((await asAdmin('GET', path)).json.context)).toBe(context)
    }
    const me = await as(user.token)('POST', '/api/auth/me', {})
    expect(JSON.stringify(me.json.context)).toBe(context)
    expect(JSON.stringify(me.json.workspace.context)).toBe(context)
  })

  test('never show hashes', async () => {
    await addUser('MEMBER')
    for (const path of ['/rest/users', `/rest/users/${admin._id}`])
      expect((await asAdmin('GET', path)).text).not.toMatch(/\$2b\$|salt|pepper|usernameKey/)
  })

  test('lose their sessions and tokens when they are deleted', async () => {
    const user = await addUser('WORKSPACE_ADMIN')
    const { json } = await as(user.token)('POST', '/api/auth/tokens', { name: 'x', role: 'VIEWER' })
    await asAdmin('DELETE', `/rest/users/${user._id}`)
    await expect(as(user.token)('POST', '/api/auth/me')).rejects.toThrow('does not hold')
    await expect(as(json.token)('POST', '/api/auth/me')).rejects.toThrow('does not hold')
  })

  test('of another workspace are not there', async () => {
    const stranger = await identity.register()
    const path = `/rest/users/${stranger._id}`
    expect((await asAdmin('GET', path)).status).toBe(404)
    expect((await asAdmin('PATCH', path, { name: 'x' })).status).toBe(404)
    expect((await asAdmin('DELETE', path)).status).toBe(404)
    const role = stranger.role
    expect((await asAdmin('PATCH', `/rest/users/${admin._id}`, { role })).status).toBe(422)
  })

  test('are closed to ordinary roles', async () => {
    for (const role of ['MEMBER', 'VIEWER', 'PROVIDER']) {
      const user = await addUser(role)
      for (const resource of ['users', 'roles', 'audit', 'invitations'])
        expect((await as(user.token)('GET', `/rest/${resource}`)).status).toBe(403)
      expect((await as(user.token)('PATCH', `/rest/users/${user._id}`, { role: 'VIEWER' })).status).toBe(403)
      expect((await as(user.token)('POST', '/rest/roles', { name: 'x', permissions: [] })).status).toBe(403)
    }
  })

  test('can’t be given a role by one who may not write roles, but for the own one', async () => {
    const permissions = [{ schema: "{{resource}} == 'users'", read: ALL, write: ALL }]
    await asAdmin('POST', '/rest/roles', { name: 'HR', permissions })
    const hr = await addUser('HR')
    const { namespace: _none, ...fields } = newRegistration()
    const post = (role: string) => as(hr.token)('POST', '/rest/users', { ...fields, role })
    expect((await post('WORKSPACE_ADMIN')).status).toBe(403)
    expect((await as(hr.token)('PATCH', `/rest/users/${hr._id}`, { role: 'WORKSPACE_ADMIN' })).status).toBe(
      403,
    )
    const invited = await as(hr.token)('POST', '/rest/invitations', { email: fields.email, role: 'MEMBER' })
    expect(invited.status).toBe(403)
    expect((await post('HR')).status).toBe(200)
  })

  test('with a taken email are refused', async () => {
    const user = await addUser('MEMBER')
    const { namespace: _none, ...fields } = newRegistration({ email: user.username.toUpperCase() })
    const { status, json } = await asAdmin('POST', '/rest/users', { ...fields, role: 'MEMBER' })
    expect([status, json.code]).toEqual([409, 'email_taken'])
  })
})

describe('the last admin', () => {
  const expectKept = async (method: string, path: string, body?: unknown) => {
    const { status, json } = await asAdmin(method, path, body)
    expect([status, json.code]).toEqual([409, 'last_admin'])
  }

  test('can be neither removed nor demoted, nor can the role be emptied', async () => {
    await addUser('MEMBER')
    await expectKept('DELETE', `/rest/users/${admin._id}`)
    await expectKept('PATCH', `/rest/users/${admin._id}`, { role: 'MEMBER' })
    await expectKept('PATCH', `/rest/roles/${admin.role}`, { permissions: [] })
    expect((await asAdmin('GET', `/rest/users/${admin._id}`)).json.role).toBe(admin.role)
    expect((await asAdmin('GET', `/rest/roles/${admin.role}`)).json.version).toBe(1)
  })

  test('may go when there is another', async () => {
    const other = await addUser('WORKSPACE_ADMIN')
    expect((await as(other.token)('DELETE', `/rest/users/${admin._id}`)).status).toBe(200)
  })

  test('is left when two remove each other at once', async () => {
    for (let round = 0; round < 3; round++) {
      admin = await identity.register()
      const other = await addUser('WORKSPACE_ADMIN')
      const answers = await Promise.all([
        asAdmin('DELETE', `/rest/users/${other._id}`),
        as(other.token)('DELETE', `/rest/users/${admin._id}`),
      ])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    }
  })
})

describe('roles', () => {
  const permissions = [{ schema: "{{resource}} == 'channels'", read: ALL, write: '' }]

  test('get a new version with every change, and keep the old ones', async () => {
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'READER', permissions })
    expect(role).toMatchObject({ name: 'READER', version: 1, permissions })
    const path = `/rest/roles/${role._id}`
    const changed = await asAdmin('PATCH', path, { permissions: [] })
    expect(changed.json).toMatchObject({ name: 'READER', version: 2, permissions: [] })
    const whole = await asAdmin('PUT', path, { name: 'LOOKER', permissions })
    expect(whole.json).toMatchObject({ name: 'LOOKER', version: 3, permissions })
    const versions = [1, 2, 3].map((version) =>
      identity.callAs('configuration', 'GET', `/internal/roles/${role._id}/versions/${version}`),
    )
    const kept = (await Promise.all(versions)).map(({ json }) => [json.name, json.permissions.length])
    expect(kept).toEqual([
      ['READER', 1],
      ['READER', 0],
      ['LOOKER', 1],
    ])
    expect((await asAdmin('DELETE', path)).status).toBe(200)
    expect((await asAdmin('GET', path)).status).toBe(404)
  })

  test('that do not parse are refused with the column', async () => {
    const bad = [{ schema: 'true', read: '1 +', write: "{{doc.a}} == 'x" }, { schema: '{{doc.a}} == 1' }]
    const { status, json } = await asAdmin('POST', '/rest/roles', { name: 'BAD', permissions: bad })
    expect(status).toBe(422)
    expect(json.errors.map(({ path }: { path: string }) => path)).toEqual([
      '/permissions/0/read',
      '/permissions/0/write',
      '/permissions/1/schema',
    ])
    for (const { column } of json.errors) expect(column).toEqual(expect.any(Number))
  })

  test('have names of their own, and stay while someone has them', async () => {
    const { json } = await asAdmin('POST', '/rest/roles', { name: 'MEMBER', permissions })
    expect([json.status, json.code]).toEqual([409, 'name_taken'])
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'USED', permissions })
    const user = await addUser('USED')
    const refused = await asAdmin('DELETE', `/rest/roles/${role._id}`)
    expect([refused.status, refused.json.referrers]).toEqual([409, { users: 1, tokens: 0, invitations: 0 }])
    await asAdmin('DELETE', `/rest/users/${user._id}`)
    expect((await asAdmin('DELETE', `/rest/roles/${role._id}`)).status).toBe(200)
  })

  test('lose nothing when changed at once', async () => {
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'BUSY', permissions })
    const path = `/rest/roles/${role._id}`
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => asAdmin('PATCH', path, { name: `BUSY ${i}` })),
    )
    const changed = answers.filter(({ status }) => status === 200)
    expect(changed.length).toBeGreaterThan(0)
    for (const { status } of answers) expect([200, 412]).toContain(status)
    expect((await asAdmin('GET', path)).json.version).toBe(1 + changed.length)
  })

  test('explain themselves', async () => {
    const path = `/rest/roles/${admin.role + 2}/explain`
    const list = await asAdmin('POST', path, { resource: 'channels' })
    expect(list.status).toBe(200)
    expect(list.json.entries).toHaveLength(1)
    expect(list.json.result).toMatch(/may read .*channels.* may not write channels/)
    expect(list.json.entries[0]).toMatchObject({
      entry: 1,
      read: { grants: 'all' },
      write: { grants: 'none' },
    })
    const { json: own } = await asAdmin('POST', path, { resource: 'users', id: admin._id })
    expect(own.result).toContain('no entry applies')
    const doc = { _id: 1, name: 'x' }
    expect((await asAdmin('POST', path, { resource: 'channels', doc })).status).toBe(200)
    expect((await asAdmin('POST', path, { resource: 'channels', id: 1 })).json).toEqual(list.json)
    expect((await asAdmin('POST', path, { resource: '__proto__', id: 1 })).status).toBe(200)
    expect((await asAdmin('POST', path, { resource: 7 })).status).toBe(422)
    expect((await asAdmin('POST', path, { resource: 'users', id: 0 })).status).toBe(404)
  })

  test('explain nothing that is secret', async () => {
    const entry = { schema: 'true', read: "{{doc.passwordHash}} == 'x'", write: '' }
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'CURIOUS', permissions: [entry] })
    const body = { resource: 'users', id: admin._id }
    expect((await asAdmin('POST', `/rest/roles/${role._id}/explain`, body)).text).not.toContain('$2b$')
  })
})

describe('the workspace', () => {
  test('is the caller’s own and no other', async () => {
    const stranger = await identity.register()
    const { json } = await asAdmin('GET', '/rest/workspaces')
    expect(json).toEqual({ data: [admin.workspace], next: null })
    const path = `/rest/workspaces/${admin.workspace._id}`
    expect((await asAdmin('GET', path)).json).toEqual(admin.workspace)
    const strange = `/rest/workspaces/${stranger.workspace._id}`
    expect((await asAdmin('GET', strange)).status).toBe(404)
    expect((await asAdmin('PATCH', strange, { name: 'Mine' })).status).toBe(404)
    const changed = await asAdmin('PATCH', path, { name: 'Acme Inc.' })
    expect(changed.json).toMatchObject({ name: 'Acme Inc.', host: admin.workspace.host })
    expect((await asAdmin('PATCH', path, { host: 'x' })).status).toBe(422)
    const viewer = await addUser('VIEWER')
    expect((await as(viewer.token)('PATCH', path, { name: 'x' })).status).toBe(403)
    expect((await as(viewer.token)('GET', path)).json.name).toBe('Acme Inc.')
  })
})

describe('an invitation', () => {
  const invite = async (email: string, role = 'MEMBER') =>
    (await asAdmin('POST', '/rest/invitations', { email, role })).json
  const accept = (body: object) => identity.call('POST', '/api/auth/accept-invitation', { body })

  test('makes a user of the workspace, once', async () => {
    const { email, password } = newRegistration()
    const { token, _id } = await invite(email)
    const { data } = (await asAdmin('GET', '/rest/invitations')).json
    expect(data).toEqual([expect.objectContaining({ _id, email })])
    expect(JSON.stringify(data)).not.toContain(token)
    const joined = await accept({ token, name: 'Bea', password })
    expect(joined.status).toBe(200)
    expect(joined.json).toMatchObject({
      username: email,
      workspace: admin.workspace._id,
      role: admin.role + 1,
    })
    expect((await as(joined.json.accessToken)('POST', '/api/auth/me')).json.name).toBe('Bea')
    expect((await accept({ token, name: 'Bea', password })).json.code).toBe('invalid_invitation')
    expect((await asAdmin('GET', '/rest/invitations')).json.data).toEqual([])
  })

  test('makes one user of many who accept it at once', async () => {
    const { email, password } = newRegistration()
    const { token } = await invite(email)
    const answers = await Promise.all(Array.from({ length: 5 }, () => accept({ token, name: 'x', password })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status } of answers) expect([200, 401, 409]).toContain(status)
  })

  test('can be withdrawn, and is refused for a taken email', async () => {
    const { token, _id } = await invite(newRegistration().email)
    expect((await asAdmin('DELETE', `/rest/invitations/${_id}`)).status).toBe(200)
    expect((await accept({ token, name: 'x', password: 'x' })).status).toBe(401)
    expect((await invite(admin.account.username)).code).toBe('email_taken')
  })
})

describe('a new password', () => {
  const change = (token: string, currentPassword: string, newPassword: string) =>
    as(token)('POST', '/api/auth/password', { currentPassword, newPassword })

  test('ends every other session', async () => {
    const user = await addUser('MEMBER')
    const other = await login(user.username, user.password)
    expect((await change(user.token, 'wrong', 'new password')).json.code).toBe('invalid_credentials')
    expect((await change(user.token, user.password, '')).status).toBe(422)
    expect((await change(user.token, user.password, 'new password')).json).toEqual({ changed: true })
    expect((await as(user.token)('POST', '/api/auth/me')).status).toBe(200)
    await expect(as(other)('POST', '/api/auth/me')).rejects.toThrow('does not hold')
    expect(await login(user.username, user.password)).toBeUndefined()
    expect(await login(user.username, 'new password')).toEqual(expect.any(String))
  })

  test('is not for API tokens', async () => {
    const { json } = await asAdmin('POST', '/api/auth/tokens', { name: 'x', role: admin.role })
    expect((await change(json.token, 'correct horse battery staple', 'x')).status).toBe(403)
  })
})

describe('the audit log', () => {
  test('holds who did what, the latest first, and no secrets', async () => {
    const user = await addUser('MEMBER')
    await asAdmin('PATCH', `/rest/users/${user._id}`, { role: 'VIEWER' })
    const { json: token } = await asAdmin('POST', '/api/auth/tokens', { name: 'Meta', role: 'PROVIDER' })
    await asAdmin('DELETE', `/api/auth/tokens/${token._id}`)
    const { text, json } = await asAdmin('GET', '/rest/audit')
    const acts = json.data.map((entry: Record<string, unknown>) => [
      entry.action,
      entry.resource,
      entry.document,
    ])
    expect(acts).toEqual([
      ['delete', 'tokens', token._id],
      ['create', 'tokens', token._id],
      ['update', 'users', user._id],
      ['create', 'users', user._id],
    ])
    expect(json.data[2]).toMatchObject({
      account: admin._id,
      details: { from: admin.role + 1, to: admin.role + 2 },
    })
    expect(text).not.toMatch(/parley_|\$2b\$/)
    expect(text).not.toContain(user.password)
    const stranger = await identity.register()
    expect((await as(stranger.accessToken)('GET', '/rest/audit')).json.data).toEqual([])
  })
})
