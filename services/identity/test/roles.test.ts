import { describe, expect, test } from '@jest/globals'
import { administeredWorkspace } from './administered-workspace.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin } = workspace
const ALL = '{{account.workspace._id}}'

describe('roles', () => {
  const permissions = [{ schema: "{{resource}} == 'channels'", read: ALL, write: '' }]

  test('get a new version with every change, and the old ones are retained', async () => {
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'READER', permissions })
    expect(role).toMatchObject({ name: 'READER', version: 1, permissions })
    const path = `/rest/roles/${role._id}`
    const changed = await asAdmin('PATCH', path, { permissions: [] })
    expect(changed.json).toMatchObject({ name: 'READER', version: 2, permissions: [] })
    const whole = await asAdmin('PUT', path, { name: 'LOOKER', permissions })
    expect(whole.json).toMatchObject({ name: 'LOOKER', version: 3, permissions })
    const versions = [1, 2, 3].map((version) =>
      workspace.identity.callAs('configuration', 'GET', `/internal/roles/${role._id}/versions/${version}`),
    )
    const stored = (await Promise.all(versions)).map(({ json }) => [json.name, json.permissions.length])
    expect(stored).toEqual([
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
    const responses = await Promise.all(
      Array.from({ length: 6 }, (_, i) => asAdmin('PATCH', path, { name: `BUSY ${i}` })),
    )
    const changed = responses.filter(({ status }) => status === 200)
    expect(changed.length).toBeGreaterThan(0)
    for (const { status } of responses) expect([200, 412]).toContain(status)
    expect((await asAdmin('GET', path)).json.version).toBe(1 + changed.length)
  })

  test('explain themselves', async () => {
    const path = `/rest/roles/${workspace.admin.role + 2}/explain`
    const list = await asAdmin('POST', path, { resource: 'channels' })
    expect(list.status).toBe(200)
    expect(list.json.entries).toHaveLength(1)
    expect(list.json.result).toMatch(/may read .*channels.* may not write channels/)
    expect(list.json.entries[0]).toMatchObject({
      entry: 1,
      read: { grants: 'all' },
      write: { grants: 'none' },
    })
    const { json: own } = await asAdmin('POST', path, { resource: 'users', id: workspace.admin._id })
    expect(own.result).toContain('no entry applies')
    const doc = { _id: 1, name: 'x' }
    expect((await asAdmin('POST', path, { resource: 'channels', doc })).status).toBe(200)
    expect((await asAdmin('POST', path, { resource: 'channels', id: 1 })).json).toEqual(list.json)
    expect((await asAdmin('POST', path, { resource: '__proto__', id: 1 })).status).toBe(200)
    expect((await asAdmin('POST', path, { resource: 7 })).status).toBe(422)
    expect((await asAdmin('POST', path, { resource: 'users', id: 0 })).status).toBe(404)
  })

  test('explain what they give because documents name others', async () => {
    const explained = async (permissions: object[], resource: string) => {
      const name = `R${Math.random()}`
      const { json: role } = await asAdmin('POST', '/rest/roles', { name, permissions })
      return (await asAdmin('POST', `/rest/roles/${role._id}/explain`, { resource })).json.references
    }
    const may = (resource: string, read: string, write: string) => ({
      schema: `{{resource}} == '${resource}'`,
      read,
      write,
    })
    const assistants = may('assistant', 'true', 'true')
    const calls = expect.stringMatching(/^write `assistant` and read `actions`: .*credentials/)
    expect(await explained([assistants], 'assistant')).not.toContainEqual(calls)
    const both = [assistants, may('actions', '{{doc._id}} == 1', '')]
    expect(await explained(both, 'assistant')).toContainEqual(calls)
    expect(await explained(both, 'actions')).toEqual([calls])
    expect(await explained(both, 'channels')).toEqual([])
  })

  test('explain what is decided: of a document as it is stored, not as it is shown', async () => {
    const entry = { schema: "{{resource}} == 'tokens'", read: '{{doc.expiresAt}} == null', write: '' }
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'LASTING', permissions: [entry] })
    const { json: token } = await asAdmin('POST', '/api/auth/tokens', { name: 'x', role: 'VIEWER' })
    const user = await addUser('LASTING')
    expect((await as(user.token)('GET', '/api/auth/tokens')).json.data).toEqual([])
    const body = { resource: 'tokens', id: token._id }
    const { json } = await asAdmin('POST', `/rest/roles/${role._id}/explain`, body)
    expect(json.entries[0].read).toMatchObject({ grants: 'none', reason: 'Came to false for this document' })
    expect(json.result).toContain('may not read tokens')
  })

  test('explain nothing that is secret', async () => {
    const entry = { schema: 'true', read: "{{doc.usernameKey}} == 'x'", write: '' }
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'CURIOUS', permissions: [entry] })
    const body = { resource: 'users', id: workspace.admin._id }
    const { json } = await asAdmin('POST', `/rest/roles/${role._id}/explain`, body)
    expect(json.entries[0].read).toMatchObject({ grants: 'none', reason: 'Came to false' })
    expect(JSON.stringify(json)).not.toContain('$2b$')
  })

  test.each(['passwordHash', 'salt', 'pepper'])('may not name a user’s %s', async (field) => {
    const permissions = [{ schema: "{{resource}} == 'users'", read: `{{doc.${field}}} <= 'z'`, write: '' }]
    const { status, json } = await asAdmin('POST', '/rest/roles', { name: 'CURIOUS', permissions })
    expect([status, json.errors[0]]).toEqual([
      422,
      expect.objectContaining({ path: '/permissions/0/read', code: 'bad_expression', column: 1 }),
    ])
  })

  test('learn nothing of what is stored and not shown, by rules that were stored before', async () => {
    const rules = ["doc.passwordHash >= ''", "doc.usernameKey >= ''", "doc.hash >= ''", 'doc.given >= 0']
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'OLD', permissions: [] })
    const permissions = rules.map((read) => ({ schema: 'true', read, write: '' }))
    for (const collection of ['roles', 'roleVersions'])
      await workspace.identity.database
        .collection(collection)
        .updateMany({ name: 'OLD' }, { $set: { permissions } })
    const user = await addUser('OLD')
    await asAdmin('POST', '/rest/invitations', { email: 'x@example.com', role: 'VIEWER' })
    await asAdmin('POST', '/api/auth/tokens', { name: 'x', role: 'VIEWER' })
    for (const path of ['/rest/users', '/rest/invitations', '/rest/roles', '/api/auth/tokens']) {
      const { status, json } = await as(user.token)('GET', path)
      // A whole resource that is denied is 403; a condition that holds for nobody is an empty list.
      expect(status === 403 || json.data.length === 0).toBe(true)
    }
    expect(role.version).toBe(1)
  })
})
