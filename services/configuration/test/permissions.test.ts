import { beforeAll, describe, expect, test } from '@jest/globals'
import { defined } from '@parley/shared/defined'
import fc from 'fast-check'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const MINE = '{{account.workspace._id}}'
const ROLES = {
  OPEN_TASKS: [
    {
      schema: "{{resource}} == 'tasks'",
      read: "{{doc.status}} != 'failed'",
      write: "{{doc.status}} == 'active'",
    },
  ],
  BY_ID: [{ schema: 'true', read: '{{doc._id}} <= 2', write: '{{doc._id}} == 2' }],
  NESTED: [
    {
      schema: 'true',
      read: "{{doc.context.tags}}.includes('x') || {{doc.context.a}} == {{doc.workflow}}",
      write: '',
    },
  ],
  OF_ACME: [
    {
      schema: 'true',
      read: "{{doc.value.constructor}} == 'acme'",
      write: "{{doc.value._bsontype.toString}} != 'other'",
    },
  ],
  NOT_OF_ACME: [{ schema: 'true', read: "{{doc.value.constructor}} != 'acme'", write: '' }],
  WRITE_ONLY: [{ schema: 'true', read: '', write: MINE }],
  EVERYTHING: [{ schema: 'true', read: 'true', write: 'true' }],
}

const server = configurationForTests({ roles: ROLES })
beforeAll(async () => {
  for (const [at, status] of ['active', 'pending', 'failed'].entries()) {
    await server.call('PUT', `/rest/tasks/${at + 1}`, { body: { ...bodies.tasks, status } })
  }
})

const status = async (method: string, path: string, role: string, body?: unknown) =>
  (await server.call(method, path, { role, ...defined({ body }) })).status
const listed = async (role: string, query = '') =>
  (await server.call('GET', `/rest/tasks${query}`, { role })).json.data.map(({ _id }: { _id: number }) => _id)

test("a VIEWER can read documents and can't write them", async () => {
  expect(await listed('VIEWER')).toEqual([1, 2, 3])
  expect(await status('GET', '/rest/tasks/1', 'VIEWER')).toBe(200)
  expect(await status('PUT', '/rest/tasks/1', 'VIEWER', bodies.tasks)).toBe(403)
  expect(await status('POST', '/rest/tasks', 'VIEWER', bodies.tasks)).toBe(403)
  expect(await status('DELETE', '/rest/tasks/1', 'VIEWER')).toBe(403)
})

test('a PROVIDER can neither read nor write configuration', async () => {
  expect(await status('GET', '/rest/tasks', 'PROVIDER')).toBe(403)
  expect(await status('GET', '/rest/tasks/1', 'PROVIDER')).toBe(403)
  expect(await status('PUT', '/rest/tasks/1', 'PROVIDER', bodies.tasks)).toBe(403)
})

describe('a role that looks at the document', () => {
  test('a role with a condition lists and reads only the documents that meet it', async () => {
    expect(await listed('OPEN_TASKS')).toEqual([1, 2])
    expect(await listed('OPEN_TASKS', '?status=failed')).toEqual([])
    expect(await status('GET', '/rest/tasks/3', 'OPEN_TASKS')).toBe(404)
    expect(await status('GET', '/rest/steps', 'OPEN_TASKS')).toBe(403)
    expect(await listed('BY_ID')).toEqual([1, 2])
  })

  test('a role with a condition writes only where both the stored and the new document meet it', async () => {
    const body = { ...bodies.tasks, status: 'active' }
    expect(await status('PUT', '/rest/tasks/1', 'OPEN_TASKS', body)).toBe(200)
    expect(await status('PUT', '/rest/tasks/1', 'OPEN_TASKS', { ...body, status: 'pending' })).toBe(403)
    expect(await status('PUT', '/rest/tasks/2', 'OPEN_TASKS', body)).toBe(403)
    expect(await status('PUT', '/rest/tasks/3', 'OPEN_TASKS', body)).toBe(404)
    expect(await status('DELETE', '/rest/tasks/2', 'OPEN_TASKS')).toBe(403)
    expect(await status('DELETE', '/rest/tasks/3', 'OPEN_TASKS')).toBe(404)
    expect(await status('POST', '/rest/tasks', 'OPEN_TASKS', { ...body, status: 'failed' })).toBe(403)
    expect(await status('PUT', '/rest/tasks/9', 'BY_ID', body)).toBe(403)
    expect(await status('PUT', '/rest/tasks/2', 'BY_ID', body)).toBe(200)
    expect((await server.call('GET', '/rest/tasks/9')).status).toBe(404)
  })

  test('a role that can write and not read creates documents and changes none', async () => {
    expect(await status('POST', '/rest/actions', 'WRITE_ONLY', bodies.actions)).toBe(200)
    expect(await status('PUT', '/rest/tasks/1', 'WRITE_ONLY', bodies.tasks)).toBe(404)
  })

  test('a condition finds the keys that the store has for its own, in lists and in writes', async () => {
    const value = { constructor: 'acme', _bsontype: { toString: 'ours' } }
    const configs = async (role: string) =>
      (await server.call('GET', '/rest/configs', { role })).json.data.map(({ _id }: { _id: number }) => _id)
    await server.call('PUT', '/rest/configs/7', { body: { ...bodies.configs, value } })
    expect([await configs('OF_ACME'), await configs('NOT_OF_ACME')]).toEqual([[7], []])
    expect(await status('PATCH', '/rest/configs/7', 'OF_ACME', { name: 'New' })).toBe(200)
    const others = { ...value, _bsontype: { toString: 'other' } }
    expect(await status('PATCH', '/rest/configs/7', 'OF_ACME', { value: others })).toBe(403)
    await server.call('DELETE', '/rest/configs/7')
  })

  test('a condition gives the same result in the database and in memory', async () => {
    const value = fc.constantFrom<unknown>(1, 2, 'x', ['x'], ['y', 'x'], null, { x: 1 })
    const context = fc.record({ tags: value, a: value, $ref: value }, { requiredKeys: [] })
    await fc.assert(
      fc.asyncProperty(context, async (context) => {
        await server.call('PUT', '/rest/tasks/50', { body: { ...bodies.tasks, context } })
        const read = await status('GET', '/rest/tasks/50', 'NESTED')
        expect(await listed('NESTED', '?_id=50')).toEqual(read === 200 ? [50] : [])
        const { tags, a } = context
        const readable = (Array.isArray(tags) && tags.includes('x')) || tags === 'x' || a === 1
        expect(read).toBe(readable ? 200 : 404)
      }),
      { numRuns: 15 },
    )
  })
})

test('no role gives access to another workspace', async () => {
  const body = { ...bodies.channels, name: 'Theirs' }
  await server.call('PUT', '/rest/channels/1', { body: bodies.channels })
  await server.call('PUT', '/rest/channels/1', { body, workspace: 2 })
  await server.call('PUT', '/rest/channels/2', { body, workspace: 2 })
  const mine = await server.call('GET', '/rest/channels', { role: 'EVERYTHING' })
  expect(mine.json.data.map(({ name }: { name: string }) => name)).toEqual(['Support'])
  expect(await status('GET', '/rest/channels/2', 'EVERYTHING')).toBe(404)
  expect(await status('DELETE', '/rest/channels/2', 'EVERYTHING')).toBe(404)
  await server.call('DELETE', '/rest/channels/1', { role: 'EVERYTHING' })
  expect((await server.call('GET', '/rest/channels/1', { workspace: 2 })).json.name).toBe('Theirs')
})

test("a key names only the own workspace's config", async () => {
  const first = await server.call('PUT', '/rest/configs/shared', { body: bodies.configs })
  expect((await server.call('GET', '/rest/configs/shared', { workspace: 2 })).status).toBe(404)
  const second = await server.call('PUT', '/rest/configs/shared', { body: bodies.configs, workspace: 2 })
  expect([first.status, second.status]).toEqual([200, 200])
})
