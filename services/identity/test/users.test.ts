import { describe, expect, test } from '@jest/globals'
import { administeredWorkspace } from './administered-workspace.ts'
import { newRegistration } from './identity-server.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin, login } = workspace
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
