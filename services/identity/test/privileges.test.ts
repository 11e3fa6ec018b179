import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { administeredWorkspace } from './administered-workspace.ts'
import { newRegistration } from './identity-server.ts'
import { pauseNextWrite, resumeWrites } from './pause-write.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin } = workspace
const ALL = '{{account.workspace._id}}'
const everything = [{ schema: 'true', read: ALL, write: ALL }]

/** May administer users and roles, and has nothing else of the workspace. */
let clerk: Parsed
beforeEach(async () => {
  const permissions = [
    { schema: "['users','roles','tokens'].indexOf({{resource}}) >= 0", read: ALL, write: ALL },
  ]
  await asAdmin('POST', '/rest/roles', { name: 'CLERK', permissions })
  clerk = await addUser('CLERK')
})

const forbidden = async (response: Promise<{ status: number; json: Parsed }>) => {
  const { status, json } = await response
  expect([status, json.code]).toEqual([403, 'forbidden'])
}

describe('somebody who writes roles without holding everything', () => {
  test('makes no role that has more than they do', async () => {
    const asClerk = as(clerk.token)
    await forbidden(asClerk('POST', '/rest/roles', { name: 'BOSS', permissions: everything }))
    const channels = [{ schema: "{{resource}} == 'channels'", read: ALL, write: '' }]
    await forbidden(asClerk('POST', '/rest/roles', { name: 'READER', permissions: channels }))
    const users = [{ schema: "{{resource}} == 'users'", read: ALL, write: '' }]
    expect((await asClerk('POST', '/rest/roles', { name: 'READER', permissions: users })).status).toBe(200)
  })

  test('gives their own role no more than it has', async () => {
    const path = `/rest/roles/${clerk.role}`
    for (const method of ['PUT', 'PATCH'])
      await forbidden(as(clerk.token)(method, path, { name: 'CLERK', permissions: everything }))
    expect((await as(clerk.token)('PATCH', path, { name: 'CLERKS' })).status).toBe(200)
  })

  test('neither changes nor deletes a role that has more', async () => {
    const { json: boss } = await asAdmin('POST', '/rest/roles', { name: 'BOSS', permissions: everything })
    for (const role of [workspace.admin.role, boss._id]) {
      await forbidden(as(clerk.token)('PATCH', `/rest/roles/${role}`, { permissions: [] }))
      await forbidden(as(clerk.token)('DELETE', `/rest/roles/${role}`))
    }
  })

  test('gives no role that has more, to users, invitations or tokens', async () => {
    const { namespace: _none, ...user } = newRegistration()
    const asClerk = as(clerk.token)
    const { json: other } = await asClerk('POST', '/rest/users', { ...user, role: 'CLERK' })
    for (const role of ['WORKSPACE_ADMIN', 'MEMBER', 'VIEWER']) {
      const { namespace: _none, ...another } = newRegistration()
      await forbidden(asClerk('POST', '/rest/users', { ...another, role }))
      await forbidden(asClerk('POST', '/rest/invitations', { email: another.email, role }))
      await forbidden(asClerk('POST', '/api/auth/tokens', { name: 'x', role }))
      await forbidden(asClerk('PATCH', `/rest/users/${other._id}`, { role }))
      await forbidden(asClerk('PATCH', `/rest/users/${clerk._id}`, { role }))
    }
    expect((await asClerk('PATCH', `/rest/users/${other._id}`, { name: 'New' })).status).toBe(200)
  })
})

const patch = (caller: Parsed, user: Parsed, change: object) =>
  as(caller.token)('PATCH', `/rest/users/${user._id}`, change)
const USERS = { schema: "{{resource}} in ['users', 'tokens']", read: ALL, write: ALL }
/** A role of the workspace that may administer users, and has one more entry. */
const addRole = async (name: string, entry: object) =>
  (await asAdmin('POST', '/rest/roles', { name, permissions: [USERS, entry] })).json
const addNobody = async () => {
  await asAdmin('POST', '/rest/roles', { name: 'NOBODY', permissions: [] })
  return addUser('NOBODY')
}
const create = (caller: Parsed, role: string, change: Record<string, unknown> = {}) => {
  const { namespace: _none, ...user } = newRegistration(change)
  return as(caller.token)('POST', '/rest/users', { ...user, role })
}
const invite = (caller: Parsed, role: string) =>
  as(caller.token)('POST', '/rest/invitations', { email: newRegistration().email, role })

describe('a role whose rules go by the context', () => {
  afterEach(resumeWrites)
  let lead: Parsed
  beforeEach(async () => {
    const team = '{{doc.config.team}} == {{account.context.team}}'
    const permissions = [
      { schema: "{{resource}} == 'users'", read: ALL, write: ALL },
      { schema: "{{resource}} == 'channels'", read: team, write: team },
    ]
    await asAdmin('POST', '/rest/roles', { name: 'LEAD', permissions })
    lead = await addUser('LEAD')
    const context = { team: 'one' }
    expect((await asAdmin('PATCH', `/rest/users/${lead._id}`, { context })).status).toBe(200)
  })

  test('gets no context that gives more from who has it: neither they themselves nor others of it', async () => {
    const other = await addUser('LEAD')
    for (const user of [lead, other]) await forbidden(patch(lead, user, { context: { team: 'two' } }))
    for (const context of [{ team: 'one' }, { team: 'one', since: 2020 }, {}])
      expect((await patch(lead, other, { context })).status).toBe(200)
    expect((await patch(lead, lead, { name: 'New' })).status).toBe(200)
  })

  test('is not given to somebody with another context by who has it', async () => {
    const other = await addNobody()
    expect((await patch(lead, other, { context: { team: 'two' } })).status).toBe(200)
    await forbidden(patch(lead, other, { role: 'LEAD' }))
    expect((await patch(lead, other, { role: 'LEAD', context: { team: 'one' } })).status).toBe(200)
  })

  test('is not given to somebody who gets another context at the same moment', async () => {
    const other = await addNobody()
    const write = pauseNextWrite('updateOne', 'accounts')
    const promoted = patch(lead, other, { role: 'LEAD' })
    await write.reached
    expect((await patch(lead, other, { context: { team: 'two' } })).status).toBe(200)
    write.release()
    expect((await promoted).json.code).toBe('precondition_failed')
    expect((await asAdmin('GET', `/rest/users/${other._id}`)).json.role).toBe(other.role)
  })

  test('is given to new users, to whom those rules give nothing', async () => {
    expect((await create(lead, 'LEAD')).status).toBe(200)
    expect((await invite(lead, 'LEAD')).status).toBe(200)
  })

  test('hinders nobody whose own role has no such rule', async () => {
    expect((await patch(clerk, clerk, { context: { team: 'two' } })).status).toBe(200)
  })
})

describe('a role that has more without a context', () => {
  let restricted: Parsed
  beforeEach(async () => {
    await addRole('FREE', { schema: '!{{account.context.restricted}}', read: ALL, write: ALL })
    restricted = await addUser('FREE')
  })
  const restrict = () => asAdmin('PATCH', `/rest/users/${restricted._id}`, { context: { restricted: true } })

  test('is given to nobody by somebody whose context restricts them', async () => {
    const nobody = await addNobody()
    expect((await restrict()).status).toBe(200)
    await forbidden(create(restricted, 'FREE'))
    await forbidden(invite(restricted, 'FREE'))
    await forbidden(patch(restricted, nobody, { role: 'FREE' }))
    const context = { restricted: true }
    expect((await patch(restricted, nobody, { role: 'FREE', context })).status).toBe(200)
  })

  test('is not got by an invitation of somebody whom their context restricts since', async () => {
    const { json } = await invite(restricted, 'FREE')
    expect((await restrict()).status).toBe(200)
    const body = { token: json.token, name: 'x', password: 'a new password' }
    const accepted = await workspace.identity.call('POST', '/api/auth/accept-invitation', { body })
    expect(accepted.json.code).toBe('invalid_invitation')
  })
})

describe('a role whose rules go by the name', () => {
  let plain: Parsed
  beforeEach(async () => {
    await addRole('NAMED', { schema: "{{account.name}}.startsWith('Lead ')", read: ALL, write: ALL })
    plain = await addUser('NAMED')
  })

  test('gets no name by which it has more, from who has it', async () => {
    const other = await addUser('NAMED')
    for (const user of [plain, other]) {
      await forbidden(patch(plain, user, { name: 'Lead Bob' }))
      expect((await patch(plain, user, { name: 'Bob', phone: '1' })).status).toBe(200)
    }
    await forbidden(create(plain, 'NAMED', { name: 'Lead Bob' }))
    expect((await create(plain, 'NAMED', { name: 'Bob' })).status).toBe(200)
  })

  test('is not given by an invitation, which is accepted with any name', async () => {
    await forbidden(invite(plain, 'NAMED'))
  })
})

test('a role that excepts the id of who has it is given to nobody by them', async () => {
  const role = await addRole('OTHERS', { schema: 'false' })
  const excepted = await addUser('OTHERS')
  const rule = { schema: `{{account._id}} != ${excepted._id}`, read: ALL, write: ALL }
  await asAdmin('PATCH', `/rest/roles/${role._id}`, { permissions: [USERS, rule] })
  await forbidden(create(excepted, 'OTHERS'))
})

describe('somebody with the same role whose context gives them more', () => {
  afterEach(resumeWrites)
  let boss: Parsed
  let clerical: Parsed
  beforeEach(async () => {
    await addRole('STAFF', { schema: '{{account.context.boss}} == true', read: ALL, write: ALL })
    boss = await addUser('STAFF')
    clerical = await addUser('STAFF')
    await asAdmin('PATCH', `/rest/users/${boss._id}`, { context: { boss: true } })
  })

  test('is neither changed nor deleted, and retains their tokens', async () => {
    await forbidden(patch(clerical, boss, { name: 'Nobody' }))
    await forbidden(patch(clerical, boss, { context: {} }))
    await forbidden(as(clerical.token)('DELETE', `/rest/users/${boss._id}`))
    const { json } = await as(boss.token)('POST', '/api/auth/tokens', { name: 'x', role: 'STAFF' })
    await forbidden(as(clerical.token)('DELETE', `/api/auth/tokens/${json._id}`))
  })

  test('manages those who have less, and each themselves', async () => {
    const { json } = await as(clerical.token)('POST', '/api/auth/tokens', { name: 'x', role: 'STAFF' })
    expect((await as(boss.token)('DELETE', `/api/auth/tokens/${json._id}`)).status).toBe(200)
    for (const user of [boss, clerical]) expect((await patch(user, user, { name: 'New' })).status).toBe(200)
    expect((await patch(boss, clerical, { name: 'New' })).status).toBe(200)
    expect((await as(boss.token)('DELETE', `/rest/users/${clerical._id}`)).status).toBe(200)
  })

  test('is not deleted by who read them before they got it', async () => {
    const other = await addUser('STAFF')
    const write = pauseNextWrite('deleteOne', 'accounts')
    const deleted = as(clerical.token)('DELETE', `/rest/users/${other._id}`)
    await write.reached
    expect((await asAdmin('PATCH', `/rest/users/${other._id}`, { context: { boss: true } })).status).toBe(200)
    write.release()
    expect((await deleted).json.code).toBe('precondition_failed')
  })
})

describe('somebody who has more than the caller', () => {
  test('is neither changed, demoted nor deleted', async () => {
    for (const _id of [workspace.admin._id, (await addUser('MEMBER'))._id]) {
      await forbidden(as(clerk.token)('PATCH', `/rest/users/${_id}`, { name: 'Nobody' }))
      await forbidden(as(clerk.token)('PATCH', `/rest/users/${_id}`, { role: 'CLERK' }))
      await forbidden(as(clerk.token)('DELETE', `/rest/users/${_id}`))
    }
  })

  test('retains the invitations and tokens that they made', async () => {
    const invitation = { email: 'x@example.com', role: 'MEMBER' }
    const { json: invited } = await asAdmin('POST', '/rest/invitations', invitation)
    await forbidden(as(clerk.token)('DELETE', `/rest/invitations/${invited._id}`))
    const { json: token } = await asAdmin('POST', '/api/auth/tokens', { name: 'x', role: 'MEMBER' })
    await forbidden(as(clerk.token)('DELETE', `/api/auth/tokens/${token._id}`))
    expect((await asAdmin('DELETE', `/api/auth/tokens/${token._id}`)).status).toBe(200)
  })
})

describe('an API token', () => {
  const me = (token: string) => as(token)('POST', '/api/auth/me')

  test('ends when its maker has less than it', async () => {
    const second = await addUser('WORKSPACE_ADMIN')
    const { json } = await as(second.token)('POST', '/api/auth/tokens', { name: 'x', role: 'MEMBER' })
    expect((await me(json.token)).status).toBe(200)
    await asAdmin('PATCH', `/rest/users/${second._id}`, { role: 'VIEWER' })
    await expect(me(json.token)).rejects.toThrow('is not valid')
  })

  test('ends when the role of its maker is changed to have less, and this is reported to the gateway', async () => {
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'BOSS', permissions: everything })
    const second = await addUser('BOSS')
    const { json } = await as(second.token)('POST', '/api/auth/tokens', { name: 'x', role: 'MEMBER' })
    await asAdmin('PATCH', `/rest/roles/${role._id}`, { permissions: [] })
    await expect(me(json.token)).rejects.toThrow('is not valid')
    const { json: reported } = await workspace.identity.callAs('gateway', 'GET', '/internal/changes?since=0')
    expect(reported.changes).toContainEqual(
      expect.objectContaining({ kind: 'workspace', key: String(workspace.admin.workspace._id) }),
    )
  })

  test('is made within ten minutes of a login, or with the password', async () => {
    const user = await addUser('WORKSPACE_ADMIN')
    const sessions = workspace.identity.database.collection('sessions')
    const create = (body: object) => as(user.token)('POST', '/api/auth/tokens', body)
    await sessions.updateMany({ account: user._id }, { $set: { createdAt: new Date(Date.now() - 601_000) } })
    const body = { name: 'x', role: 'VIEWER' }
    const refused = await create(body)
    expect([refused.status, refused.json.code]).toEqual([403, 'password_required'])
    const wrong = await create({ ...body, currentPassword: 'wrong' })
    expect([wrong.status, wrong.json.code]).toEqual([401, 'invalid_credentials'])
    expect((await create({ ...body, currentPassword: user.password })).status).toBe(200)
    await sessions.updateMany({ account: user._id }, { $set: { createdAt: new Date(Date.now() - 500_000) } })
    expect((await create(body)).status).toBe(200)
  })

  test('makes another only with the password, and that one ends with it at the latest', async () => {
    const body = { name: 'x', role: workspace.admin.role, expiresInDays: 2 }
    const { json: maker } = await asAdmin('POST', '/api/auth/tokens', body)
    const create = (change: object) => as(maker.token)('POST', '/api/auth/tokens', { ...body, ...change })
    expect((await create({})).json.code).toBe('password_required')
    const currentPassword = newRegistration().password
    const { json: longer } = await create({ currentPassword, expiresInDays: 30 })
    const { json: unbounded } = await create({ currentPassword, expiresInDays: null })
    const { json: shorter } = await create({ currentPassword, expiresInDays: 1 })
    expect([longer.expiresAt, unbounded.expiresAt]).toEqual([maker.expiresAt, maker.expiresAt])
    expect(Date.parse(shorter.expiresAt)).toBeLessThan(Date.parse(maker.expiresAt))
  })

  test('ends with a new password of its account, unless it is to stay', async () => {
    const user = await addUser('WORKSPACE_ADMIN')
    const { json } = await as(user.token)('POST', '/api/auth/tokens', { name: 'x', role: 'VIEWER' })
    const change = (body: object) => as(user.token)('POST', '/api/auth/password', body)
    const first = { currentPassword: user.password, newPassword: 'second password', keepApiTokens: true }
    expect((await change(first)).status).toBe(200)
    expect((await me(json.token)).status).toBe(200)
    expect((await change({ currentPassword: 'second password', newPassword: 'third' })).status).toBe(200)
    await expect(me(json.token)).rejects.toThrow('is not valid')
  })
})
