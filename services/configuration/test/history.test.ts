import { expect, test } from '@jest/globals'
import { changesBetween } from '@parley/shared/field-changes'
import fc from 'fast-check'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'
import { eventually } from './eventually.ts'

const server = configurationForTests({
  roles: {
    ACTIVE: [{ schema: 'true', read: "{{doc.status}} == 'active'", write: '' }],
    OWN: [{ schema: 'true', read: '{{doc.owner}} == 5', write: '{{doc.owner}} == 5' }],
    READER_OF_ALL: [{ schema: 'true', read: 'true', write: '{{doc.owner}} == 5' }],
  },
})

const by = { _id: 11, username: 'ana@example.com' }
const at = expect.any(String)

async function history(path: string, length: number) {
  const response = await eventually(
    () => server.call('GET', `/rest/${path}/history`),
    ({ json }) => json?.data?.length >= length,
  )
  return response.json
}

test('the history has who wrote each version, when and what changed, also through deletion and re-creation', async () => {
  const { context, ...least } = bodies.tasks
  await server.call('PUT', '/rest/tasks/5', { body: { ...least, context: { $ref: 'x', preserve: 1 } } })
  await server.call('PATCH', '/rest/tasks/5', {
    body: { name: 'New', context: { 'a/b': [1], $ref: null }, extId: null },
  })
  await server.call('DELETE', '/rest/tasks/5')
  await server.call('PUT', '/rest/tasks/5', { body: least, workspace: 1 })
  const { data, next } = await history('tasks/5', 4)
  expect(next).toBeNull()
  expect(
    data.map(({ version, operation }: { version: number; operation: string }) => [version, operation]),
  ).toEqual([
    [4, 'created'],
    [3, 'deleted'],
    [2, 'updated'],
    [1, 'created'],
  ])
  expect(data[2]).toEqual({
    version: 2,
    operation: 'updated',
    at,
    by,
    changes: [
      { path: '/name', before: 'Onboard', after: 'New' },
      { path: '/extId', before: 'thread-1' },
      { path: '/context/$ref', before: 'x' },
      { path: '/context/a~1b', after: [1] },
    ],
  })
  expect(data[1].changes).toContainEqual({ path: '/name', before: 'New' })
  expect(data[0].changes).toContainEqual({ path: '/name', after: 'Onboard' })
  expect(data[3].changes).toContainEqual({ path: '/context', after: { $ref: 'x', preserve: 1 } })
})

test('a thread that is erased is erased in the history of its tasks, also of those deleted or given to another', async () => {
  const taskOf = (extId: string, context: string) => ({ ...bodies.tasks, extId, context: { said: context } })
  await server.call('PUT', '/rest/tasks/70', { body: taskOf('person', 'a secret') })
  await server.call('PUT', '/rest/tasks/71', { body: taskOf('person', 'a secret') })
  await server.call('DELETE', '/rest/tasks/71')
  await server.call('PUT', '/rest/tasks/72', { body: taskOf('person', 'a secret') })
  await server.call('PUT', '/rest/tasks/72', { body: taskOf('another', 'said by another') })
  await server.call('PUT', '/rest/tasks/73', { body: taskOf('another', 'said by another') })
  await server.call('DELETE', '/rest/tasks/73')
  expect(JSON.stringify(await history('tasks/71', 2))).toContain('a secret')
  const erase = () =>
    server.callAs('dispatcher', '/internal/workspaces/1/tasks/erase', {
      ...{ method: 'POST', body: { thread: 'person' } },
    })
  expect((await erase()).json).toEqual({ erased: true })
  for (const [id, versions] of [
    [70, 2],
    [71, 3],
    [72, 3],
  ] as const) {
    const shown = await eventually(
      () => server.call('GET', `/rest/tasks/${id}/history`),
      ({ json, text }) => json.data?.length === versions && !text.includes('a secret'),
    )
    expect(shown.json.data[0].changes.flatMap((change: object) => Object.keys(change))).not.toContain(
      'before',
    )
  }
  expect((await server.call('GET', '/rest/tasks/71')).status).toBe(404)
  expect((await server.call('GET', '/rest/tasks/72')).json.context).toEqual({ said: 'said by another' })
  expect(JSON.stringify(await history('tasks/73', 2))).toContain('said by another')
  await erase()
  expect((await server.call('GET', '/rest/tasks/72')).headers.get('etag')).toBe('"3"')
})

test('a task remembers a bounded number of threads that it belonged to, and is erased with any of those beyond', async () => {
  const give = (number: number) =>
    server.call('PUT', '/rest/tasks/130', {
      body: { ...bodies.tasks, extId: `thread ${number}`, context: { said: `secret ${number}` } },
    })
  for (let number = 0; number < 150; number++) expect((await give(number)).status).toBe(200)
  const stored = await server.database.collection('tasks').findOne({ '_id.id': 130 })
  expect(stored?.formerThreads.length).toBeLessThanOrEqual(100)
  // The first thread is not among those that are remembered.
  await server.callAs('dispatcher', '/internal/workspaces/1/tasks/erase', {
    ...{ method: 'POST', body: { thread: 'thread 0' } },
  })
  const all = () =>
    server.database.collection('history').find({ '_id.resource': 'tasks', '_id.id': 130 }).toArray()
  const entries = await eventually(all, (found) => found.length === 151)
  expect(entries).toHaveLength(151)
  const said = await eventually(all, (found) => !JSON.stringify(found).includes('secret'))
  expect(JSON.stringify(said)).not.toContain('secret')
  expect((await server.call('GET', '/rest/tasks/130')).json.context).toEqual({ said: 'secret 149' })
})

test('an erasure looks at the history of the tasks of its thread, and at no other', async () => {
  await server.call('PUT', '/rest/tasks/80', { body: { ...bodies.tasks, extId: 'erased' } })
  for (let id = 81; id < 121; id++) await server.call('PUT', `/rest/tasks/${id}`, { body: bodies.tasks })
  await history('tasks/120', 1)
  await server.database.command({ profile: 2 })
  await server.callAs('dispatcher', '/internal/workspaces/1/tasks/erase', {
    ...{ method: 'POST', body: { thread: 'erased' } },
  })
  const erasures = () =>
    server.database
      .collection('system.profile')
      .find({ op: 'update', ns: `${server.database.databaseName}.history`, 'command.u': { $type: 'array' } })
      .toArray()
  const [erasure] = await eventually(erasures, (found) => found.length > 0)
  await server.database.command({ profile: 0 })
  expect(erasure?.docsExamined).toBeLessThanOrEqual(2)
  expect(JSON.stringify(await history('tasks/80', 2))).not.toContain('"before":{"a"')
})

test('the history is paged, and visible only to callers who can read the document', async () => {
  await server.call('PUT', '/rest/tasks/6', { body: { ...bodies.tasks, status: 'active' } })
  for (let count = 0; count < 60; count++) {
    await server.call('PATCH', '/rest/tasks/6', { body: { name: `n${count}` } })
  }
  const versions = async (query: string) => {
    const { json } = await server.call('GET', `/rest/tasks/6/history${query}`)
    return { next: json.next, all: json.data.map(({ version }: { version: number }) => version) }
  }
  await eventually(
    () => versions(''),
    ({ all }) => all[0] === 61,
  )
  const first = await versions('')
  expect([first.all.length, first.next]).toEqual([50, '12'])
  expect(await versions(`?after=${first.next}`)).toEqual({
    next: null,
    all: [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
  })

  const status = async (role: string, path = '/rest/tasks/6/history', workspace = 1) =>
    (await server.call('GET', path, { role, workspace })).status
  expect(await status('VIEWER')).toBe(200)
  expect(await status('ACTIVE')).toBe(200)
  expect(await status('PROVIDER')).toBe(403)
  expect(await status('VIEWER', '/rest/tasks/6/history', 2)).toBe(404)
  expect(await status('VIEWER', '/rest/tasks/6/history?after=x')).toBe(422)
  await server.call('DELETE', '/rest/tasks/6')
  expect(await status('VIEWER')).toBe(200)
  expect(await status('ACTIVE')).toBe(404)
  expect((await server.call('POST', '/rest/tasks/6/history')).status).toBe(405)
})

test('who creates a deleted document anew sees nothing of what it was before, unless they may read all', async () => {
  const apiKey = 'that-stands-here-in-the-clear'
  const config = (owner: number) => ({ ...bodies.configs, owner, ownerType: 'team', value: { apiKey } })
  await server.call('PUT', '/rest/configs/3', { body: config(9) })
  await server.call('PATCH', '/rest/configs/3', { body: { name: 'of another' } })
  await server.call('DELETE', '/rest/configs/3')
  const shown = (role: string) => server.call('GET', '/rest/configs/3/history', { role })
  expect((await shown('OWN')).status).toBe(404)
  const mine = { ...config(5), value: { apiKey: 'mine' } }
  expect((await server.call('PUT', '/rest/configs/3', { role: 'OWN', body: mine })).status).toBe(200)
  await server.call('PATCH', '/rest/configs/3', { role: 'OWN', body: { name: 'My own' } })
  await history('configs/3', 5)
  const own = await shown('OWN')
  expect(own.json.data.map(({ version }: { version: number }) => version)).toEqual([5, 4])
  expect([own.json.next, own.text.includes('of another'), own.text.includes(apiKey)]).toEqual([
    null,
    false,
    false,
  ])
  expect((await server.call('GET', '/rest/configs/3/history?after=4', { role: 'OWN' })).json.data).toEqual([])
  const all = await shown('READER_OF_ALL')
  expect([all.json.data.length, all.text.includes('of another'), all.text.includes(apiKey)]).toEqual([
    5,
    true,
    false,
  ])
  expect((await shown('WORKSPACE_ADMIN')).text).toContain(apiKey)
})

test('who may write a document now does not see the secrets that it had before it was theirs', async () => {
  const config = { ...bodies.configs, owner: 9, value: { apiKey: 'the-first-key' } }
  await server.call('PUT', '/rest/configs/4', { body: config })
  await server.call('PATCH', '/rest/configs/4', { body: { owner: 5, value: { apiKey: 'the-second-key' } } })
  await history('configs/4', 2)
  const own = await server.call('GET', '/rest/configs/4/history', { role: 'OWN' })
  expect(own.json.data.length).toBe(2)
  expect(own.text).not.toMatch(/the-\w+-key/)
  expect((await server.call('GET', '/rest/configs/4', { role: 'OWN' })).text).toContain('the-second-key')
})

test('what is written while the history is read is judged when it is read again', async () => {
  await server.call('PUT', '/rest/configs/5', { body: { ...bodies.configs, owner: 5 } })
  await server.call('PATCH', '/rest/configs/5', { body: { owner: 9, name: 'of another' } })
  await history('configs/5', 2)
  // As it was stored when the reading began.
  const configs = server.database.collection('configs')
  const { modifiedCount } = await configs.updateOne(
    { '_id.id': 5, '_id.workspace': 1 },
    { $set: { version: 1, 'doc.owner': 5 } },
  )
  expect(modifiedCount).toBe(1)
  const { json } = await server.call('GET', '/rest/configs/5/history', { role: 'OWN' })
  expect(json.data.map(({ version }: { version: number }) => version)).toEqual([1])
})

test('the history has changes that are too large for one change event, without their values', async () => {
  const part = 'x'.repeat(4_190_000)
  const patch = async (context: object) =>
    (await server.call('PATCH', '/rest/tasks/7', { body: { context } })).status
  expect((await server.call('PUT', '/rest/tasks/7', { body: bodies.tasks })).status).toBe(200)
  for (const name of ['x', 'y', 'z']) expect(await patch({ [name]: part })).toBe(200)
  expect(await patch({ x: null, y: null, w: part })).toBe(200)
  const { json } = await eventually(
    () => server.call('GET', '/rest/tasks/7/history'),
    ({ json }) => json.data?.[0]?.version === 5,
  )
  expect(json.data[0].changes).toEqual(['/context/x', '/context/y', '/context/w'].map((path) => ({ path })))
})

test('two states that differ in countless places are compared by their top-level fields', () => {
  const before = {
    big: Object.fromEntries(Array.from({ length: 600 }, (_, key) => [`k${key}`, key])),
    same: 1,
  }
  expect(changesBetween(before, { big: {}, same: 1 })).toEqual([
    { path: '/big', before: before.big, after: {} },
  ])
})

test('states differ nowhere exactly when they are the same JSON', () => {
  const state = fc.dictionary(
    fc.string(),
    fc.oneof(fc.integer(), fc.dictionary(fc.string(), fc.array(fc.integer()))),
  )
  fc.assert(
    fc.property(state, state, (before, after) => {
      expect(changesBetween(before, before)).toEqual([])
      const sorted = (value: typeof before) =>
        JSON.stringify(value, (_, inner) =>
          typeof inner === 'object' && !Array.isArray(inner)
            ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
            : inner,
        )
      expect(changesBetween(before, after).length === 0).toBe(sorted(before) === sorted(after))
    }),
  )
})
