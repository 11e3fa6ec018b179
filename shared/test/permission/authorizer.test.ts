import { beforeEach, describe, expect, test } from '@jest/globals'
import { type Authorizer, createAuthorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'

const WORKSPACE = '{{account.workspace._id}}'
const callerWith = (
  role: Partial<Caller['role']> = {},
  account: Partial<Caller['account']> = {},
): Caller => ({
  account: { _id: 1, username: 'ana', name: 'Ana', profile: 2, context: {}, ...account },
  workspace: { _id: 7, name: 'Acme', namespace: 'acme', host: 'acme.example.com' },
  role: { _id: 3, name: 'MEMBER', version: 4, ...role },
})

let asked: string[]
let roles: Record<string, unknown>
let authorizer: Authorizer
beforeEach(() => {
  asked = []
  roles = {
    '/internal/roles/3/versions/4': {
      permissions: [
        { schema: "{{resource}} == 'jobs'", read: WORKSPACE, write: '' },
        { schema: "{{resource}} == 'tasks'", read: '{{doc.owner}} == {{account._id}}', write: WORKSPACE },
        { schema: "{{resource}} == 'roles'", read: "{{account.role.name}} == 'MEMBER'", write: '' },
        { schema: "{{resource}} == 'ids'", read: '{{account.role._id}} == 3', write: '' },
      ],
    },
    '/internal/roles/3/versions/5': { permissions: [] },
  }
  authorizer = createAuthorizer({
    get: async (path) => {
      asked.push(path)
      if (roles[path] instanceof Error) throw roles[path]
      return roles[path]
    },
  })
})

describe('a caller', () => {
  test.each<[string, 'read' | 'write', string]>([
    ['jobs', 'read', 'all'],
    ['jobs', 'write', 'none'],
    ['tasks', 'read', 'some'],
    ['tasks', 'write', 'all'],
    ['roles', 'read', 'all'],
    ['ids', 'read', 'all'],
    ['users', 'read', 'none'],
  ])('may do with %s, to %s: %s', async (resource, access, kind) => {
    expect(await authorizer.decide(callerWith(), resource, access)).toMatchObject({ kind })
  })

  test('is decided about with the account that it has', async () => {
    for (const _id of [1, 2]) {
      const decision = await authorizer.decide(callerWith({}, { _id }), 'tasks', 'read')
      if (decision.kind !== 'some') throw new Error(decision.kind)
      expect([decision.test({ owner: 1 }), decision.test({ owner: 2 })]).toEqual([_id === 1, _id === 2])
    }
  })

  test('is decided about once for each resource and access', async () => {
    const caller = callerWith()
    const read = await authorizer.decide(caller, 'tasks', 'read')
    expect(await authorizer.decide(caller, 'tasks', 'write')).not.toEqual(read)
    expect(await authorizer.decide(caller, 'jobs', 'read')).not.toEqual(read)
    expect(await authorizer.decide(caller, 'tasks', 'read')).toBe(read)
  })

  test('who is denied a whole resource is refused where it is required', async () => {
    expect(await authorizer.require(callerWith(), 'tasks', 'read')).toMatchObject({ kind: 'some' })
    expect(await authorizer.require(callerWith(), 'jobs', 'read')).toEqual({ kind: 'all' })
    const caller = callerWith()
    for (const _time of ['first', 'second'])
      await expect((async () => authorizer.require(caller, 'jobs', 'write'))()).rejects.toMatchObject({
        code: 'forbidden',
        message: 'The role may not write jobs.',
      })
    expect(asked).toHaveLength(1)
  })
})

describe('a role', () => {
  test('is fetched once in each version, by whoever has it', async () => {
    await Promise.all([callerWith(), callerWith()].map((caller) => authorizer.decide(caller, 'jobs', 'read')))
    await authorizer.decide(callerWith({}, { _id: 2 }), 'tasks', 'write')
    expect(asked).toEqual(['/internal/roles/3/versions/4'])
    expect(await authorizer.decide(callerWith({ version: 5 }), 'jobs', 'read')).toEqual({ kind: 'none' })
    expect(asked).toEqual(['/internal/roles/3/versions/4', '/internal/roles/3/versions/5'])
  })

  test('that is not there any more lets nobody do anything', async () => {
    await expect(authorizer.decide(callerWith({ _id: 9 }), 'jobs', 'read')).rejects.toMatchObject({
      code: 'forbidden',
      message: 'The role no longer exists.',
    })
  })

  test('that could not be fetched is fetched again', async () => {
    const path = '/internal/roles/3/versions/6'
    roles[path] = new Error('unavailable')
    const caller = callerWith({ version: 6 })
    await expect(authorizer.decide(caller, 'jobs', 'read')).rejects.toThrow('unavailable')
    roles[path] = { permissions: [{ schema: 'true', read: WORKSPACE }] }
    expect(await authorizer.decide(caller, 'jobs', 'read')).toEqual({ kind: 'all' })
  })

  test('is one of the last 10,000 that are cached', async () => {
    const versions = Array.from({ length: 10_001 }, (_, version) => version)
    for (const version of versions) roles[`/internal/roles/3/versions/${version}`] = { permissions: [] }
    for (const version of versions) await authorizer.decide(callerWith({ version }), 'jobs', 'read')
    asked = []
    await authorizer.decide(callerWith({ version: 1 }), 'jobs', 'read')
    expect(asked).toEqual([])
    await authorizer.decide(callerWith({ version: 0 }), 'jobs', 'read')
    expect(asked).toEqual(['/internal/roles/3/versions/0'])
  })

  test('is forgotten when those after it come to 16 Mi characters', async () => {
    const permissions = Array.from({ length: 100 }, () => ({ schema: ' '.repeat(80_000) }))
    for (const version of [1, 2, 3]) {
      roles[`/internal/roles/3/versions/${version}`] = { permissions }
      await authorizer.decide(callerWith({ version }), 'jobs', 'read')
    }
    asked = []
    await authorizer.decide(callerWith({ version: 3 }), 'jobs', 'read')
    expect(asked).toEqual([])
    await authorizer.decide(callerWith({ version: 1 }), 'jobs', 'read')
    expect(asked).toEqual(['/internal/roles/3/versions/1'])
  })

  test('answers all who wait for it, though more are fetched at once than are cached', async () => {
    const versions = Array.from({ length: 10_100 }, (_, version) => version)
    const permissions = [{ schema: 'true', read: WORKSPACE }]
    for (const version of versions) roles[`/internal/roles/3/versions/${version}`] = { permissions }
    const decided = await Promise.all(
      versions.map((version) => authorizer.decide(callerWith({ version }), 'jobs', 'read')),
    )
    expect(new Set(decided.map(({ kind }) => kind))).toEqual(new Set(['all']))
  })
})

test('a large decision is forgotten when those after it come to 8 Mi characters', async () => {
  const texts = Array.from({ length: 250 }, (_, at) => `'${String(at).padStart(4, '0')}'`)
  const permissions = Array.from({ length: 100 }, (_, at) => ({
    schema: 'true',
    read: `[${texts}].includes(doc.of${at})`,
  }))
  roles['/internal/roles/3/versions/7'] = { permissions }
  const caller = callerWith({ version: 7 })
  const first = await authorizer.decide(caller, 'resource 0', 'read')
  expect(await authorizer.decide(caller, 'resource 0', 'read')).toBe(first)
  for (let at = 1; at < 60; at++) await authorizer.decide(caller, `resource ${at}`, 'read')
  expect(await authorizer.decide(caller, 'resource 0', 'read')).not.toBe(first)
  const last = await authorizer.decide(caller, 'resource 59', 'read')
  expect(await authorizer.decide(caller, 'resource 59', 'read')).toBe(last)
})
