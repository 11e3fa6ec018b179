import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { identityForTests, newRegistration } from './identity-server.ts'

const identity = identityForTests()
let admin: Parsed
beforeAll(async () => {
  admin = await identity.register()
})

const PATH = '/api/auth/tokens'
const create = (body: object, as: string = admin.accessToken) => identity.callWith(as, 'POST', PATH, body)
const me = (token: string) => identity.callWith(token, 'POST', '/api/auth/me')

describe('an API token', () => {
  test('is shown once, and acts in the role it was given', async () => {
    const { status, headers, json } = await create({ name: 'Meta', role: 'PROVIDER', expiresInDays: 30 })
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(json).toEqual({
      _id: expect.any(Number),
      name: 'Meta',
      role: admin.role + 3,
      account: admin._id,
      token: expect.stringMatching(/^parley_[\w-]{43}$/),
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
      lastUsedAt: null,
    })
    expect(Date.parse(json.expiresAt) - Date.parse(json.createdAt)).toBe(30 * 86_400_000)
    expect((await me(json.token)).json).toMatchObject({ _id: admin._id, role: { name: 'PROVIDER' } })

    const { token, ...listed } = json
    const list = await identity.callWith(admin.accessToken, 'GET', PATH)
    const found = list.json.data.find(({ _id }: { _id: number }) => _id === json._id)
    expect(found).toEqual({ ...listed, lastUsedAt: expect.any(String) })
    expect(JSON.stringify(await identity.database.collection('apiTokens').find().toArray())).not.toContain(
      token,
    )
  })

  test('stops when it is revoked', async () => {
    const { json } = await create({ name: 'short', role: admin.role })
    const path = `${PATH}/${json._id}`
    expect((await identity.callWith(admin.accessToken, 'DELETE', path)).json).toEqual({
      _id: json._id,
      deleted: true,
    })
    await expect(me(json.token)).rejects.toThrow('is not valid')
    expect((await identity.callWith(admin.accessToken, 'DELETE', path)).status).toBe(404)
  })

  test('stops when its time is over', async () => {
    const { json } = await create({ name: 'short', role: 'VIEWER', expiresInDays: 1 })
    await identity.database
      .collection<{ _id: number }>('apiTokens')
      .updateOne({ _id: json._id }, { $set: { expiresAt: new Date(Date.now() - 1) } })
    await expect(me(json.token)).rejects.toThrow('is not valid')
  })

  test.each([
    [{ role: 'VIEWER' }, '/name'],
    [{ name: 'x' }, '/role'],
    [{ name: 'x', role: 'NOBODY' }, '/role'],
    [{ name: 'x', role: 999_999 }, '/role'],
    [{ name: 'x', role: 'VIEWER', expiresInDays: 0 }, '/expiresInDays'],
    [{ name: 'x', role: 'VIEWER', more: 1 }, ''],
  ])('is refused for %j', async (body, path) => {
    const { status, json } = await create(body)
    expect([status, json.errors[0].path]).toEqual([422, path])
  })
})

describe('the right to make tokens', () => {
  const tokenIn = async (role: string | number) => (await create({ name: 'x', role })).json.token as string

  test.each(['MEMBER', 'VIEWER', 'PROVIDER'])('is not %s’s', async (role) => {
    const token = await tokenIn(role)
    expect((await create({ name: 'x', role }, token)).status).toBe(403)
    expect((await identity.callWith(token, 'GET', PATH)).status).toBe(403)
    expect((await identity.callWith(token, 'DELETE', `${PATH}/1`)).status).toBe(403)
  })

  test('gives no other role than the own one without the right to write roles', async () => {
    const permissions = [
      {
        schema: "['users','roles'].indexOf({{resource}}) < 0",
        read: '{{account.workspace._id}}',
        write: '{{account.workspace._id}}',
      },
    ]
    const roleId = admin.role + 100_000
    const now = new Date()
    const role = { _id: roleId, workspace: admin.workspace._id, name: 'STORED', version: 1, permissions }
    await identity.database
      .collection<{ _id: number }>('roles')
      .insertOne({ ...role, createdAt: now, updatedAt: now } as never)
    await identity.database
      .collection<{ _id: string }>('roleVersions')
      .insertOne({ _id: `${roleId}/1`, role: roleId, version: 1, name: 'STORED', permissions } as never)
    const token = await tokenIn(roleId)
    const own = { name: 'x', role: roleId, currentPassword: newRegistration().password }
    expect((await create(own, token)).status).toBe(200)
    for (const other of ['WORKSPACE_ADMIN', 'MEMBER', 'PROVIDER', admin.role]) {
      const { status, json } = await create({ name: 'x', role: other }, token)
      expect([status, json.code]).toEqual([403, 'forbidden'])
      const invitation = { email: `${other}@example.com`, role: other }
      expect((await identity.callWith(token, 'POST', '/rest/invitations', invitation)).status).toBe(403)
      const user = { ...invitation, name: 'x', password: 'correct horse battery staple' }
      expect((await identity.callWith(token, 'POST', '/rest/users', user)).status).toBe(403)
    }
  })

  test('ends at the workspace', async () => {
    const stranger = await identity.register()
    const { json } = await create({ name: 'mine', role: 'VIEWER' })
    const path = `${PATH}/${json._id}`
    expect((await identity.callWith(stranger.accessToken, 'DELETE', path)).status).toBe(404)
    expect((await create({ name: 'x', role: admin.role }, stranger.accessToken)).status).toBe(422)
    const { data } = (await identity.callWith(stranger.accessToken, 'GET', PATH)).json
    expect(data).toEqual([])
  })
})

test('lists come in pages', async () => {
  const owner = await identity.register()
  const ids: number[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    ids.push((await create({ name, role: owner.role }, owner.accessToken)).json._id)
  const list = async (query: string) =>
    (await identity.callWith(owner.accessToken, 'GET', `${PATH}?${query}`)).json
  const first = await list('limit=2')
  expect([first.data.map(({ _id }: { _id: number }) => _id), first.next]).toEqual([
    ids.slice(0, 2),
    `${ids[1]}`,
  ])
  const second = await list(`limit=3&after=${first.next}`)
  expect([second.data.map(({ _id }: { _id: number }) => _id), second.next]).toEqual([ids.slice(2), null])
  expect((await list('limit=201')).status).toBe(422)
  expect((await list('sort=name')).status).toBe(422)
  const path = `${PATH}/01`
  expect((await identity.callWith(owner.accessToken, 'DELETE', path)).json.code).toBe('invalid_id')
})

describe('the API tokens of a workspace', () => {
  test('are at most 100 that are neither revoked nor expired, also where they are made at once', async () => {
    const owner = await identity.register()
    const tokens = identity.database.collection<{ _id: number; [field: string]: unknown }>('apiTokens')
    const make = (role: string) => create({ name: 'x', role }, owner.accessToken)
    const made = (await make('VIEWER')).json
    const stored = await tokens.findOne({ _id: made._id })
    const documentOf = (n: number, fields: object) => ({
      ...{ ...stored, hash: `${owner._id} ${n}`, ...fields },
      _id: -owner._id * 1_000 - n,
    })
    const past = { expiresAt: new Date(Date.now() - 1) }
    const future = { expiresAt: new Date(Date.now() + 60_000) }
    await tokens.insertMany(Array.from({ length: 120 }, (_, n) => documentOf(n, past)))
    await tokens.insertMany(
      Array.from({ length: 94 }, (_, n) => documentOf(200 + n, n % 2 ? future : { expiresAt: undefined })),
      {
        ignoreUndefined: true,
      },
    )
    // Of several roles, which is what else they might conflict over.
    const roles = ['VIEWER', 'MEMBER', 'PROVIDER', 'WORKSPACE_ADMIN']
    const responses = await Promise.all(Array.from({ length: 12 }, (_, n) => make(roles[n % 4] as string)))
    const codes = responses.map(({ status, json }) => (status === 200 ? 200 : [status, json.code].join(' ')))
    expect(codes.toSorted()).toEqual([
      ...Array<number>(5).fill(200),
      ...Array<string>(7).fill('409 too_many_tokens'),
    ])
    expect((await make('VIEWER')).json.code).toBe('too_many_tokens')
    expect((await me(made.token)).status).toBe(200)
    await identity.callWith(owner.accessToken, 'DELETE', `${PATH}/${made._id}`)
    expect((await make('VIEWER')).status).toBe(200)
    expect((await create({ name: 'x', role: 'VIEWER' })).status).toBe(200)
  })
})
