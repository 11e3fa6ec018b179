import { describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { administeredWorkspace } from './administered-workspace.ts'
import { newRegistration } from './identity-server.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin, identity, login } = workspace
const ALL = '{{account.workspace._id}}'

describe('users', () => {
  test('are created, read, listed, changed and deleted', async () => {
    const { namespace: _none, password, ...fields } = newRegistration()
    const created = await asAdmin('POST', '/rest/users', { ...fields, password, role: 'MEMBER' })
    const { email, ...others } = fields
    expect(created.json).toEqual({
      _id: expect.any(Number),
      provider: 'local',
      username: email,
      ...others,
      profile: expect.any(Number),
      workspace: workspace.admin.workspace._id,
      role: workspace.admin.role + 1,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      context: {},
    })
    const path = `/rest/users/${created.json._id}`
    expect((await asAdmin('GET', path)).json).toEqual(created.json)
    const list = (await asAdmin('GET', '/rest/users')).json
    expect(list.data.map(({ _id }: { _id: number }) => _id)).toEqual([workspace.admin._id, created.json._id])
    const context = { team: 'blue', $set: 1, 'a.b': [] }
    const changed = await asAdmin('PATCH', path, { name: 'New', role: 'VIEWER', context })
    expect(changed.json).toMatchObject({
      name: 'New',
      role: workspace.admin.role + 2,
      context,
      phone: fields.phone,
    })
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
    for (const path of [`/rest/users/${user._id}`, `/rest/workspaces/${workspace.admin.workspace._id}`]) {
      const changed = await asAdmin('PATCH', path, { context: JSON.parse(odd) })
      expect([changed.status, JSON.stringify(changed.json.context)]).toEqual([200, context])
      expect((await asAdmin('PATCH', path, { name: 'New' })).status).toBe(200)
      expect(JSON.stringify((await asAdmin('GET', path)).json.context)).toBe(context)
    }
    const me = await as(user.token)('POST', '/api/auth/me', {})
    expect(JSON.stringify(me.json.context)).toBe(context)
    expect(JSON.stringify(me.json.workspace.context)).toBe(context)
  })

  test('never show hashes', async () => {
    await addUser('MEMBER')
    for (const path of ['/rest/users', `/rest/users/${workspace.admin._id}`])
      expect((await asAdmin('GET', path)).text).not.toMatch(/\$2b\$|salt|pepper|usernameKey/)
  })

  test('lose their sessions and tokens when they are deleted', async () => {
    const user = await addUser('WORKSPACE_ADMIN')
    const { json } = await as(user.token)('POST', '/api/auth/tokens', { name: 'x', role: 'VIEWER' })
    await asAdmin('DELETE', `/rest/users/${user._id}`)
    await expect(as(user.token)('POST', '/api/auth/me')).rejects.toThrow('is not valid')
    await expect(as(json.token)('POST', '/api/auth/me')).rejects.toThrow('is not valid')
  })

  test('of another workspace are not there', async () => {
    const stranger = await workspace.identity.register()
    const path = `/rest/users/${stranger._id}`
    expect((await asAdmin('GET', path)).status).toBe(404)
    expect((await asAdmin('PATCH', path, { name: 'x' })).status).toBe(404)
    expect((await asAdmin('DELETE', path)).status).toBe(404)
    const role = stranger.role
    expect((await asAdmin('PATCH', `/rest/users/${workspace.admin._id}`, { role })).status).toBe(422)
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
  const expectUnchanged = async (method: string, path: string, body?: unknown) => {
    const { status, json } = await asAdmin(method, path, body)
    expect([status, json.code]).toEqual([409, 'last_admin'])
  }

  test('can be neither removed nor demoted, nor can the role be emptied', async () => {
    await addUser('MEMBER')
    await expectUnchanged('DELETE', `/rest/users/${workspace.admin._id}`)
    await expectUnchanged('PATCH', `/rest/users/${workspace.admin._id}`, { role: 'MEMBER' })
    await expectUnchanged('PATCH', `/rest/roles/${workspace.admin.role}`, { permissions: [] })
    expect((await asAdmin('GET', `/rest/users/${workspace.admin._id}`)).json.role).toBe(workspace.admin.role)
    expect((await asAdmin('GET', `/rest/roles/${workspace.admin.role}`)).json.version).toBe(1)
  })

  test.each([
    ['was stored by a version that does not say what it comes to', { $unset: { adminCheck: 1 } }],
    ['was last stored by such a version', { $set: { 'adminCheck.version': 0, 'adminCheck.isAdmin': false } }],
  ])('may go when another has a role that %s', async (_what, change) => {
    const roles = identity.database.collection('roles')
    const other = await addUser('WORKSPACE_ADMIN')
    await roles.updateMany({ workspace: workspace.admin.workspace._id }, change)
    expect((await as(other.token)('DELETE', `/rest/users/${workspace.admin._id}`)).status).toBe(200)
    const refused = await as(other.token)('DELETE', `/rest/users/${other._id}`)
    expect([refused.status, refused.json.code]).toEqual([409, 'last_admin'])
  })

  test('is looked for without reading the permissions of every role', async () => {
    const { json } = await asAdmin('POST', '/rest/roles', { name: 'LARGE', permissions: [] })
    const roles = identity.database.collection<{ _id: number }>('roles')
    const wrong = { 'adminCheck.isAdmin': true, permissions: 'not read' }
    await roles.updateOne({ _id: json._id }, { $set: wrong })
    await addUser('WORKSPACE_ADMIN')
    expect((await asAdmin('DELETE', `/rest/users/${workspace.admin._id}`)).status).toBe(200)
  })

  test('may go when there is another', async () => {
    const other = await addUser('WORKSPACE_ADMIN')
    expect((await as(other.token)('DELETE', `/rest/users/${workspace.admin._id}`)).status).toBe(200)
  })

  test.each([1, 2, 3])('is left when two remove each other at once: round %i', async () => {
    const other = await addUser('WORKSPACE_ADMIN')
    const responses = await Promise.all([
      asAdmin('DELETE', `/rest/users/${other._id}`),
      as(other.token)('DELETE', `/rest/users/${workspace.admin._id}`),
    ])
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409])
  })
})

describe('what a user or a role is made of has a bound', () => {
  test('POST /rest/users takes a phone of 255 characters and no longer one', async () => {
    const { namespace: _none, ...fields } = newRegistration()
    const create = (phone: string) => asAdmin('POST', '/rest/users', { ...fields, role: 'MEMBER', phone })
    const refused = await create('1'.repeat(256))
    expect([refused.status, refused.json.errors[0].path]).toEqual([422, '/phone'])
    expect((await create('é'.repeat(255))).status).toBe(200)
  })

  test('PATCH /rest/users/{id} takes a phone of 255 characters and no longer one', async () => {
    const change = (phone: string) => asAdmin('PATCH', `/rest/users/${workspace.admin._id}`, { phone })
    expect((await change('1'.repeat(256))).status).toBe(422)
    expect((await change('1'.repeat(255))).json.phone).toHaveLength(255)
  })

  test('and an expression of nothing but spaces is as long as others at most', async () => {
    const create = (read: string) =>
      asAdmin('POST', '/rest/roles', { name: `of ${read.length}`, permissions: [{ schema: 'true', read }] })
    const refused = await create(' '.repeat(2_001))
    expect([refused.status, refused.json.errors[0].path]).toEqual([422, '/permissions/0/read'])
    expect((await create(' '.repeat(2_000))).status).toBe(200)
  })

  test('and a page ends early where they are large', async () => {
    const permissions = Array.from({ length: 100 }, () => ({
      schema: 'a'.repeat(2_000),
      read: 'b'.repeat(2_000),
    }))
    const stored = Array.from({ length: 50 }, (_, at) => ({
      _id: 1_000_000 + at,
      workspace: workspace.admin.workspace._id,
      name: `large ${at}`,
      version: 1,
      permissions,
    }))
    await identity.database.collection<{ _id: number }>('roles').insertMany(stored)
    const seen: number[] = []
    let pages = 0
    for (let next: string | null = '0'; next !== null; pages++) {
      const { json } = await asAdmin('GET', `/rest/roles?limit=200&after=${next}`)
      expect(JSON.stringify(json).length).toBeLessThan(9 * 1024 * 1024)
      seen.push(...json.data.map(({ _id }: Parsed) => _id))
      next = json.next
    }
    expect(seen.slice(-50)).toEqual(stored.map(({ _id }) => _id))
    expect([seen.length, pages]).toEqual([54, 3])
  })
})
