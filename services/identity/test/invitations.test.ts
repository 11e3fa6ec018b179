import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { HashPool } from '../src/passwords/passwords.ts'
import { administeredWorkspace } from './administered-workspace.ts'
import { newRegistration } from './identity-server.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin } = workspace
const accept = (body: object) => workspace.identity.call('POST', '/api/auth/accept-invitation', { body })

describe('an invitation', () => {
  const invite = async (email: string, role = 'MEMBER') =>
    (await asAdmin('POST', '/rest/invitations', { email, role })).json

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
      workspace: workspace.admin.workspace._id,
      role: workspace.admin.role + 1,
    })
    expect((await as(joined.json.accessToken)('POST', '/api/auth/me')).json.name).toBe('Bea')
    expect((await accept({ token, name: 'Bea', password })).json.code).toBe('invalid_invitation')
    expect((await asAdmin('GET', '/rest/invitations')).json.data).toEqual([])
  })

  test('makes one user of many who accept it at once', async () => {
    const { email, password } = newRegistration()
    const { token } = await invite(email)
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => accept({ token, name: 'x', password })),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status } of responses) expect([200, 401, 409]).toContain(status)
  })

  test('can be withdrawn, and is refused for a taken email', async () => {
    const { token, _id } = await invite(newRegistration().email)
    expect((await asAdmin('DELETE', `/rest/invitations/${_id}`)).status).toBe(200)
    expect((await accept({ token, name: 'x', password: 'x' })).status).toBe(401)
    expect((await invite(workspace.admin.account.username)).code).toBe('email_taken')
  })
})

describe('an invitation of a second admin', () => {
  const { hash } = HashPool.prototype
  let second: Parsed
  let token: string
  beforeEach(async () => {
    second = await addUser('WORKSPACE_ADMIN')
    token = await inviteAs(second, 'WORKSPACE_ADMIN')
  })
  afterEach(() => {
    Object.assign(HashPool.prototype, { hash })
  })

  const inviteAs = async (inviter: Parsed, role: string) => {
    const body = { email: newRegistration().email, role }
    return (await as(inviter.token)('POST', '/rest/invitations', body)).json.token as string
  }
  const accepted = async (sent: string) => {
    const { status, json } = await accept({ token: sent, name: 'x', password: 'a new password' })
    return [status, json.code]
  }
  const demote = () => asAdmin('PATCH', `/rest/users/${second._id}`, { role: 'VIEWER' })
  const changePassword = (change: object) => {
    const body = { currentPassword: second.password, newPassword: 'another password', ...change }
    return as(second.token)('POST', '/api/auth/password', body)
  }
  const INVALID = [401, 'invalid_invitation']

  test('makes an admin while nothing of theirs changes', async () => {
    expect(await accepted(token)).toEqual([200, undefined])
  })

  test('ends when they are deleted, and is listed no more', async () => {
    expect((await asAdmin('DELETE', `/rest/users/${second._id}`)).status).toBe(200)
    expect(await accepted(token)).toEqual(INVALID)
    expect((await asAdmin('GET', '/rest/invitations')).json.data).toEqual([])
  })

  test('is not accepted once they have less than its role', async () => {
    expect((await demote()).status).toBe(200)
    expect(await accepted(token)).toEqual(INVALID)
  })

  test('is not accepted once they may invite nobody, though they have its role', async () => {
    const viewer = await inviteAs(second, 'VIEWER')
    expect((await demote()).status).toBe(200)
    expect(await accepted(viewer)).toEqual(INVALID)
  })

  test('is not accepted when they are demoted while it is being accepted', async () => {
    const hashing = Promise.withResolvers<void>()
    const demoted = Promise.withResolvers<void>()
    HashPool.prototype.hash = async function (...given) {
      hashing.resolve()
      await demoted.promise
      return hash.apply(this, given)
    }
    const response = accepted(token)
    await hashing.promise
    expect((await demote()).status).toBe(200)
    demoted.resolve()
    expect(await response).toEqual(INVALID)
    expect((await asAdmin('GET', '/rest/users')).json.data).toHaveLength(2)
  })

  test('is not accepted once their role has less than its role', async () => {
    const ALL = '{{account.workspace._id}}'
    const permissions = [{ schema: 'true', read: ALL, write: ALL }]
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'BOSS', permissions })
    const boss = await addUser('BOSS')
    const [first, later] = [await inviteAs(boss, 'MEMBER'), await inviteAs(boss, 'MEMBER')]
    expect(await accepted(first)).toEqual([200, undefined])
    const fewer = [{ schema: "['users','roles'].indexOf({{resource}}) >= 0", read: ALL, write: ALL }]
    await asAdmin('PATCH', `/rest/roles/${role._id}`, { permissions: fewer })
    expect(await accepted(later)).toEqual(INVALID)
  })

  test('ends with their new password', async () => {
    expect((await changePassword({})).status).toBe(200)
    expect(await accepted(token)).toEqual(INVALID)
  })

  test('stays with a new password that leaves their API tokens', async () => {
    expect((await changePassword({ keepApiTokens: true })).status).toBe(200)
    expect(await accepted(token)).toEqual([200, undefined])
  })

  test('ends with the API token that it was made with', async () => {
    const made = await as(second.token)('POST', '/api/auth/tokens', { name: 'x', role: 'WORKSPACE_ADMIN' })
    const [first, later] = [await inviteAs(made.json, 'MEMBER'), await inviteAs(made.json, 'MEMBER')]
    expect(await accepted(first)).toEqual([200, undefined])
    const path = `/api/auth/tokens/${made.json._id}`
    expect((await as(second.token)('DELETE', path)).status).toBe(200)
    expect(await accepted(later)).toEqual(INVALID)
    expect(await accepted(token)).toEqual([200, undefined])
  })

  test('is not made in a session that has ended, though the gateway does not know yet', async () => {
    const thief = await workspace.identity.confirm(await workspace.login(second.username, second.password))
    expect((await changePassword({})).status).toBe(200)
    const body = { email: newRegistration().email, role: 'WORKSPACE_ADMIN' }
    expect((await thief('POST', '/rest/invitations', body)).json.code).toBe('unauthenticated')
    expect((await asAdmin('GET', '/rest/invitations')).json.data).toEqual([])
  })
})
