import { describe, expect, test } from '@jest/globals'
import { CONFIGURATION_RESOURCES, type ResourceName } from '@parley/shared/configuration-resources'
import type { z } from 'zod'
import { definitions } from '../src/resources/all-resources.ts'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests()

/** Returns the fields that a resource with fields of its own adds to the body that was sent. */
function madeHere(resource: ResourceName, document: object): object {
  const { own, schema } = definitions[resource]
  if (own === undefined) return {}
  const fields = new Set([...Object.keys(own.shape), ...Object.keys(schema.shape)])
  const made = Object.entries(document).filter(([field]) => fields.has(field) && !(field in bodies[resource]))
  return Object.fromEntries(made)
}

describe.each(CONFIGURATION_RESOURCES)('%s', (resource) => {
  const body = bodies[resource]

  test('are created, read, replaced, listed and deleted', async () => {
    const created = await server.call('POST', `/rest/${resource}`, { body })
    expect(created.status).toBe(200)
    expect(created.json).toEqual({
      _id: 1,
      ...body,
      ...madeHere(resource, created.json),
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect((await server.call('GET', `/rest/${resource}/1`)).json).toEqual(created.json)

    const { shape } = definitions[resource].schema
    const [text = ''] = Object.keys(shape).filter(
      (field) => (shape[field] as z.ZodType).safeParse('new').success,
    )
    const replaced = await server.call('PUT', `/rest/${resource}/1`, {
      body: { ...body, [text]: 'new' },
    })
    expect([replaced.status, replaced.json[text]]).toEqual([200, 'new'])
    const again = await server.call('PUT', `/rest/${resource}/1`, { body: created.json })
    expect(again.json).toEqual({ ...created.json, updatedAt: expect.any(String) })

    const list = await server.call('GET', `/rest/${resource}`)
    expect(list.json).toEqual({ data: [again.json], next: null })

    const deleted = await server.call('DELETE', `/rest/${resource}/1?force=true`)
    expect(deleted.json).toEqual({ _id: 1, deleted: true })
    expect((await server.call('GET', `/rest/${resource}/1`)).status).toBe(404)
    expect((await server.call('DELETE', `/rest/${resource}/1`)).status).toBe(404)
    expect((await server.call('GET', `/rest/${resource}`)).json.data).toEqual([])
  })

  test('are created under a free id, and anew under a deleted one, with versions going on', async () => {
    const first = await server.call('PUT', `/rest/${resource}/77`, { body })
    expect(first.json).toMatchObject({ _id: 77, ...body })
    expect(first.headers.get('etag')).toBe('"1"')
    await server.call('DELETE', `/rest/${resource}/77?force=true`)
    const second = await server.call('PUT', `/rest/${resource}/77`, { body })
    expect(second.status).toBe(200)
    expect(second.headers.get('etag')).toBe('"3"')
  })

  test('refuse unknown keys, missing fields and wrong types, and say where', async () => {
    for (const method of ['POST', 'PUT']) {
      const path = method === 'POST' ? `/rest/${resource}` : `/rest/${resource}/5`
      const unknown = await server.call(method, path, { body: { ...body, surprise: 1 } })
      expect(unknown.status).toBe(422)
      expect(unknown.text).toContain('surprise')
      const proto = await server.call(method, path, {
        raw: JSON.stringify(body).replace('{', '{"__proto__":{"x":1},'),
      })
      expect(proto.status).toBe(422)
      for (const wrong of [null, [], [body], 'text', 7, true, {}]) {
        expect((await server.call(method, path, { body: wrong })).status).toBe(422)
      }
      expect((await server.call(method, path)).status).toBe(422)
      for (const field of Object.keys(body)) {
        const odd = await server.call(method, path, { body: { ...body, [field]: { $gt: '' } } })
        if (isFreeForm(body[field])) continue
        expect(odd.status).toBe(422)
        expect(odd.json.errors[0].path).toBe(`/${field}`)
      }
    }
  })

  test('answer 405 with what is allowed', async () => {
    const all = await server.call('DELETE', `/rest/${resource}`)
    expect([all.status, all.headers.get('allow')]).toEqual([405, 'GET, POST'])
    const one = await server.call('POST', `/rest/${resource}/1`, { body })
    expect(one.status).toBe(405)
    expect(one.headers.get('allow')).toBe('GET, PUT, PATCH, DELETE')
  })
})

test('ids in paths are canonical integers', async () => {
  for (const id of [
    '-1',
    '1e3',
    '0x10',
    '%207',
    '1.0',
    '01',
    '9007199254740992',
    'abc',
    '1%2F2',
    '..%2F1',
    '99999999999999999',
    '%00',
  ]) {
    const response = await server.call('PUT', `/rest/steps/${id}`, { body: bodies.steps })
    expect([id, response.status]).toEqual([id, 400])
    expect(response.json.code).toBe('invalid_id')
  }
  for (const id of ['%', '%zz', '%ff']) {
    expect((await server.call('GET', `/rest/steps/${id}`)).status).toBe(400)
  }
  expect((await server.call('PUT', '/rest/steps/0', { body: bodies.steps })).status).toBe(200)
})

test('POST goes on after a PUT to the largest id, and over ids that are taken or deleted', async () => {
  const workspace = 5
  const put = (id: number) => server.call('PUT', `/rest/jobs/${id}`, { body: bodies.jobs, workspace })
  const post = async () =>
    (await server.call('POST', '/rest/jobs', { body: bodies.jobs, workspace })).json._id
  expect((await put(Number.MAX_SAFE_INTEGER)).json._id).toBe(Number.MAX_SAFE_INTEGER)
  expect(await post()).toBe(1)
  for (const id of [2, 3, 5]) await put(id)
  await server.call('DELETE', '/rest/jobs/3', { workspace })
  expect(await post()).toBe(4)
  expect(await post()).toBe(6)
})

test('100 documents created at once all get an id of their own, and none is left out', async () => {
  const responses = await Promise.all(
    Array.from({ length: 100 }, () =>
      server.call('POST', '/rest/actions', { body: bodies.actions, workspace: 6 }),
    ),
  )
  expect(responses.map(({ status }) => status)).toEqual(Array(100).fill(200))
  const ids = responses.map(({ json }) => Number(json._id)).toSorted((a, b) => a - b)
  expect(ids).toEqual(Array.from({ length: 100 }, (_, at) => at + 1))
})

test('100 PUTs of one new id at once all succeed and make one document', async () => {
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      server.call('PUT', '/rest/steps/9', { body: { ...bodies.steps, name: `n${at}` }, workspace: 6 }),
    ),
  )
  expect(responses.map(({ status }) => status)).toEqual(Array(100).fill(200))
  expect(new Set(responses.map(({ headers }) => headers.get('etag'))).size).toBe(100)
})

test('optional fields that are null are returned as null', async () => {
  const body = { ...bodies.assistant, actions: null, configs: null, job: null }
  const { json } = await server.call('PUT', '/rest/assistant/3', { body })
  expect(json).toMatchObject(body)
})

test('a configs document has a key where the path is no integer, and both address it', async () => {
  const body = bodies.configs
  for (const key of [
    'default-provider',
    'a b',
    'user@example.com',
    'é:1',
    '-1',
    '1e3',
    '0x10',
    '12345678901234567',
    ' 7',
  ]) {
    const path = `/rest/configs/${encodeURIComponent(key)}`
    const created = await server.call('PUT', path, { body, workspace: 8 })
    expect(created.json).toMatchObject({ _id: expect.any(Number), key, ...body })
    const byId = `/rest/configs/${created.json._id}`
    expect((await server.call('GET', byId, { workspace: 8 })).json).toEqual(created.json)
    const replaced = await server.call('PUT', byId, { body: { ...body, key: 'ignored' }, workspace: 8 })
    expect(replaced.json).toMatchObject({ _id: created.json._id, key })
    expect((await server.call('GET', path, { workspace: 8 })).json).toEqual(replaced.json)
  }
  for (const key of ['a%2Fb', '%00', '%0a', 'x'.repeat(129), '9007199254740992']) {
    expect((await server.call('PUT', `/rest/configs/${key}`, { body })).status).toBe(400)
  }
})

test('a deleted key can be used again, and names one document however many write it at once', async () => {
  const body = bodies.configs
  const path = '/rest/configs/shared-key'
  const first = await server.call('PUT', path, { body, workspace: 9 })
  await server.call('DELETE', path, { workspace: 9 })
  const responses = await Promise.all(
    Array.from({ length: 30 }, () => server.call('PUT', path, { body, workspace: 9 })),
  )
  expect(responses.map(({ status }) => status)).toEqual(Array(30).fill(200))
  const ids = new Set(responses.map(({ json }) => json._id))
  expect(ids.size).toBe(1)
  expect(ids.has(first.json._id)).toBe(false)
})

describe('task status', () => {
  const put = (status: string) => server.call('PUT', '/rest/tasks/40', { body: { ...bodies.tasks, status } })

  test('a caller sets active, pending and failed at any time, and no other', async () => {
    for (const status of ['active', 'pending', 'failed', 'active'])
      expect((await put(status)).status).toBe(200)
    for (const status of ['completed', 'cancelled', 'done']) {
      const response = await put(status)
      expect([response.status, response.json.errors[0].path]).toEqual([422, '/status'])
    }
    const body = { ...bodies.tasks, status: 'completed' }
    expect((await server.call('POST', '/rest/tasks', { body })).status).toBe(422)
  })
})

const isFreeForm = (value: unknown) => typeof value === 'object' && !Array.isArray(value)
