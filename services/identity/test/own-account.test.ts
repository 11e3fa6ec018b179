import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { administeredWorkspace } from './administered-workspace.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin, identity, login } = workspace

let user: Parsed
beforeEach(async () => {
  user = await addUser('VIEWER')
})

const sessionsOf = async (token: string) =>
  (await as(token)('GET', '/api/auth/sessions')).json.data as {
    _id: string
    isCurrent: boolean
    userAgent: string | null
  }[]
const isOver = async (token: string) => (await as(token)('POST', '/api/auth/me', {})).status === 401

describe('one’s own sessions', () => {
  test('are listed with what logged in, the one that asks marked, and those of others not', async () => {
    const before = await sessionsOf(user.token)
    const other = await login(user.username, user.password)
    const listed = await sessionsOf(other)
    expect(listed).toHaveLength(before.length + 1)
    expect(listed.filter(({ isCurrent }) => isCurrent)).toHaveLength(1)
    expect(listed[0]).toMatchObject({ isCurrent: true, userAgent: expect.any(String) })
    expect(JSON.stringify(listed)).not.toContain('secret')
    expect((await sessionsOf(user.token)).map(({ _id }) => _id)).toEqual(listed.map(({ _id }) => _id))
  })

  test('end one by one, and all others at once', async () => {
    const [first, second] = [
      await login(user.username, user.password),
      await login(user.username, user.password),
    ]
    const of = (await sessionsOf(first)).find(({ isCurrent }) => isCurrent)?._id
    expect((await as(second)('POST', '/api/auth/sessions/end', { session: of })).json).toEqual({
      ended: true,
    })
    expect(await sessionsOf(second)).toHaveLength(2)
    expect((await as(second)('POST', '/api/auth/sessions/end', { session: of })).status).toBe(404)
    expect((await as(second)('POST', '/api/auth/sessions/end')).json).toEqual({ ended: true })
    expect((await sessionsOf(second)).map(({ isCurrent }) => isCurrent)).toEqual([true])
    expect(
      await identity.database
        .collection('sessions')
        .countDocuments({ account: user._id, revokedAt: { $exists: false } }),
    ).toBe(1)
  })

  test('of another account are not there, and end for nobody else', async () => {
    const other = await addUser('WORKSPACE_ADMIN')
    const theirs = (await sessionsOf(other.token))[0]?._id
    expect((await as(user.token)('POST', '/api/auth/sessions/end', { session: theirs })).status).toBe(404)
    expect(await isOver(other.token)).toBe(false)
  })
})

describe('oneself', () => {
  test('is renamed by whoever is logged in, with any role, and with no other field', async () => {
    const { status, json } = await as(user.token)('PATCH', '/api/auth/me', { name: 'Vera Lima' })
    expect([status, json.name, json._id]).toEqual([200, 'Vera Lima', user._id])
    expect((await asAdmin('GET', `/rest/users/${user._id}`)).json).toMatchObject({ name: 'Vera Lima' })
    expect((await as(user.token)('PATCH', '/api/auth/me', { role: 1 })).status).toBe(422)
    const { json: log } = await asAdmin('GET', '/rest/audit?limit=1&action=update')
    expect(log.data).toMatchObject([{ action: 'update', document: user._id, details: { fields: ['name'] } }])
  })

  test('is not given a name by which its role grants more', async () => {
    const permissions = [
      { schema: "{{resource}} == 'messages'", read: "{{account.name}} == 'Boss'", write: '' },
    ]
    expect((await asAdmin('POST', '/rest/roles', { name: 'BY_NAME', permissions })).status).toBe(200)
    const named = await addUser('BY_NAME')
    expect((await as(named.token)('PATCH', '/api/auth/me', { name: 'Boss' })).status).toBe(403)
    expect((await as(named.token)('PATCH', '/api/auth/me', { phone: '+351 1' })).status).toBe(200)
  })
})

describe('preferences', () => {
  const usual = {
    ...{ sound: false, desktop: false },
    ...{ messages: true, handOvers: true, assignments: true, onlyOwn: false },
  }

  test('are changed one by one, are there at the next login, and are nobody else’s', async () => {
    const call = as(user.token)
    expect((await call('POST', '/api/auth/me', {})).json.preferences).toEqual({
      language: null,
      notices: usual,
    })
    const change = (notices: object) => call('PATCH', '/api/auth/me', { preferences: { notices } })
    expect((await change({ sound: true })).json.preferences.notices).toEqual({ ...usual, sound: true })
    await change({ messages: false })
    const later = await login(user.username, user.password)
    const { json } = await as(later)('POST', '/api/auth/me', {})
    expect(json.preferences.notices).toEqual({ ...usual, sound: true, messages: false })
    const other = await addUser('VIEWER')
    const theirs = await as(other.token)('POST', '/api/auth/me', {})
    expect(theirs.json.preferences).toEqual({ language: null, notices: usual })
  })

  test('have a language, and none where it is left to the browsers', async () => {
    const call = as(user.token)
    const change = async (language: string | null) =>
      (await call('PATCH', '/api/auth/me', { preferences: { language } })).json.preferences.language
    expect(await change('pt-BR')).toBe('pt-BR')
    await call('PATCH', '/api/auth/me', { preferences: { notices: { sound: true } } })
    const later = await login(user.username, user.password)
    expect((await as(later)('POST', '/api/auth/me', {})).json.preferences.language).toBe('pt-BR')
    expect(await change(null)).toBe(null)
  })

  test('are no act of administration, and go with a new name in one request', async () => {
    const call = as(user.token)
    const preferences = { notices: { onlyOwn: true } }
    const latest = async () => (await asAdmin('GET', '/rest/audit?limit=1&action=update')).json.data[0]
    const before = await latest()
    expect((await call('PATCH', '/api/auth/me', { preferences })).status).toBe(200)
    expect(await latest()).toEqual(before)
    const { json } = await call('PATCH', '/api/auth/me', {
      ...{ name: 'Vera', preferences: { notices: { onlyOwn: false } } },
    })
    expect([json.name, json.preferences.notices]).toEqual(['Vera', usual])
    expect(await latest()).toMatchObject({ document: user._id, details: { fields: ['name'] } })
  })

  test.each([
    { notices: { sound: 'loud' } },
    { notices: { volume: true } },
    { notices: { sound: null } },
    { theme: 'dark' },
    { language: 'pt' },
    { language: '' },
    [],
  ])('%j are refused', async (preferences) => {
    const { status, json } = await as(user.token)('PATCH', '/api/auth/me', { preferences })
    expect([status, json.code]).toEqual([422, 'validation_failed'])
  })
})

test('an API token has no sessions, and is nobody to rename', async () => {
  const { json } = await asAdmin('POST', '/api/auth/tokens', { name: 'x', role: 'VIEWER' })
  for (const [method, path, body] of [
    ['GET', '/api/auth/sessions'],
    ['POST', '/api/auth/sessions/end'],
    ['PATCH', '/api/auth/me', { name: 'x' }],
    ['PATCH', '/api/auth/me', { preferences: {} }],
  ] as const)
    expect((await (await identity.confirm(json.token))(method, path, body)).status).toBe(403)
})

describe('colleagues', () => {
  test('are those of the workspace who may read threads, for who may read them', async () => {
    const agent = await addUser('MEMBER')
    const blind = await asAdmin('POST', '/rest/roles', { name: 'BLIND', permissions: [] })
    const outsider = await addUser(blind.json._id)
    const { status, json } = await as(agent.token)('GET', '/api/auth/colleagues')
    expect(status).toBe(200)
    const ids = json.data.map(({ _id }: { _id: number }) => _id)
    expect(ids).toContain(agent._id)
    expect(ids).toContain(workspace.admin._id)
    expect(ids).not.toContain(outsider._id)
    expect(Object.keys(json.data[0])).toEqual(['_id', 'name'])
    expect((await as(outsider.token)('GET', '/api/auth/colleagues')).status).toBe(403)
  })
})
