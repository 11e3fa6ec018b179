import { describe, expect, test } from '@jest/globals'
import { administeredWorkspace } from './administered-workspace.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin } = workspace

async function made(body: object) {
  const { status, json } = await asAdmin('POST', '/rest/teams', body)
  expect(status).toBe(200)
  return json
}
const membersOf = async ({ _id }: { _id: number }) =>
  (await asAdmin('GET', `/rest/teams/${_id}`)).json.members as number[]
const nobodysMember = {
  status: 422,
  json: { code: 'validation_failed', errors: [{ path: '/members', code: 'not_found' }] },
}

describe('a team', () => {
  test('is made, renamed, filled, emptied and deleted, as the audit log says', async () => {
    const user = await addUser('MEMBER')
    const team = await made({ name: 'Delivery', members: [user._id, user._id] })
    expect(team).toMatchObject({ name: 'Delivery', members: [user._id] })
    const path = `/rest/teams/${team._id}`
    expect((await asAdmin('GET', '/rest/teams')).json).toEqual({ data: [team], next: null })
    expect((await asAdmin('PATCH', path, { name: 'Deliveries' })).json).toMatchObject({
      ...{ name: 'Deliveries', members: [user._id] },
    })
    const members = [workspace.admin._id, user._id]
    expect((await asAdmin('PATCH', path, { members })).json.members).toEqual(members)
    expect((await asAdmin('PATCH', path, { members: [] })).json.members).toEqual([])
    expect((await asAdmin('DELETE', path)).json).toEqual({ _id: team._id, deleted: true })
    expect((await asAdmin('GET', path)).status).toBe(404)
    const { json } = await asAdmin('GET', '/rest/audit?resource=teams')
    expect(json.data.map(({ action }: { action: string }) => action)).toEqual([
      ...['delete', 'update', 'update', 'update', 'create'],
    ])
    expect(json.data[3].changes).toMatchObject([{ field: 'name', after: '"Deliveries"' }])
  })

  test('has a name of its own in its workspace', async () => {
    await made({ name: 'Sales' })
    const other = await made({ name: 'Support' })
    const taken = { status: 409, json: { code: 'name_taken' } }
    expect(await asAdmin('POST', '/rest/teams', { name: 'Sales' })).toMatchObject(taken)
    expect(await asAdmin('PATCH', `/rest/teams/${other._id}`, { name: 'Sales' })).toMatchObject(taken)
    for (const name of ['', '  ', 'x'.repeat(256), 7])
      expect((await asAdmin('POST', '/rest/teams', { name })).status).toBe(422)
    const stranger = await workspace.identity.register()
    expect((await as(stranger.accessToken)('POST', '/rest/teams', { name: 'Sales' })).status).toBe(200)
  })

  test('has users who may read threads and nobody else, 200 at most', async () => {
    const stranger = await workspace.identity.register()
    const provider = await addUser('PROVIDER')
    for (const member of [stranger._id, provider._id, 999_999_999])
      expect(await asAdmin('POST', '/rest/teams', { name: 'Sales', members: [member] })).toMatchObject(
        nobodysMember,
      )
    const team = await made({ name: 'Sales', members: [workspace.admin._id] })
    const path = `/rest/teams/${team._id}`
    const members = [workspace.admin._id, stranger._id]
    expect(await asAdmin('PATCH', path, { members })).toMatchObject(nobodysMember)
    const many = Array.from({ length: 201 }, (_, at) => at + 1)
    for (const wrong of [many, ['1'], [1.5], workspace.admin._id])
      expect((await asAdmin('PATCH', path, { members: wrong })).status).toBe(422)
    // A former reader of threads stays a member until somebody takes them out.
    const user = await addUser('MEMBER')
    expect((await asAdmin('PATCH', path, { members: [user._id] })).status).toBe(200)
    await asAdmin('PATCH', `/rest/users/${user._id}`, { role: 'PROVIDER' })
    expect((await asAdmin('PATCH', path, { members: [user._id, workspace.admin._id] })).status).toBe(200)
  })

  test('is one of 100 at most', async () => {
    const all = Array.from({ length: 100 }, (_, at) => `Team ${at}`)
    for (const name of all) await made({ name })
    const refused = await asAdmin('POST', '/rest/teams', { name: 'One more' })
    expect(refused).toMatchObject({ status: 422, json: { errors: [{ code: 'too_many' }] } })
  })

  test('is seen and changed by whose role says so, and by nobody of another workspace', async () => {
    const team = await made({ name: 'Sales', members: [workspace.admin._id] })
    const path = `/rest/teams/${team._id}`
    const [viewer, provider] = [await addUser('VIEWER'), await addUser('PROVIDER')]
    expect((await as(viewer.token)('GET', path)).json).toEqual(team)
    expect((await as(viewer.token)('PATCH', path, { name: 'Mine' })).status).toBe(403)
    expect((await as(viewer.token)('POST', '/rest/teams', { name: 'Mine' })).status).toBe(403)
    expect((await as(viewer.token)('DELETE', path)).status).toBe(403)
    expect((await as(provider.token)('GET', '/rest/teams')).status).toBe(403)
    const stranger = as((await workspace.identity.register()).accessToken)
    expect((await stranger('GET', '/rest/teams')).json.data).toEqual([])
    for (const [method, body] of [['GET'], ['PATCH', { name: 'Mine' }], ['DELETE']] as const)
      expect((await stranger(method, path, body)).status).toBe(404)
  })
})

describe('who is removed', () => {
  test('is in no team any more, whatever is done to it at the same time', async () => {
    const users = await Promise.all(Array.from({ length: 6 }, () => addUser('MEMBER')))
    const teams = await Promise.all(users.map(({ _id }) => made({ name: `Of ${_id}`, members: [_id] })))
    const all = await made({ name: 'All' })
    await Promise.all(
      users.flatMap(({ _id }) => [
        asAdmin('DELETE', `/rest/users/${_id}`),
        asAdmin('PATCH', `/rest/teams/${all._id}`, { members: [_id] }),
      ]),
    )
    for (const { _id } of users) expect((await asAdmin('GET', `/rest/users/${_id}`)).status).toBe(404)
    for (const team of [...teams, all]) expect(await membersOf(team)).toEqual([])
  })
})

test('the dispatcher alone is told of a team without a role', async () => {
  const team = await made({ name: 'Sales' })
  const { identity, admin } = workspace
  const path = `/internal/teams/${team._id}`
  expect((await identity.callAs('dispatcher', 'GET', path)).json).toMatchObject({
    ...{ name: 'Sales', workspace: admin.workspace._id },
  })
  expect((await identity.callAs('webhook', 'GET', path)).status).toBe(403)
  expect((await identity.callAs('dispatcher', 'GET', '/internal/teams/999999')).status).toBe(404)
})
