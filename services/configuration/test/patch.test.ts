import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { mergePatch } from '../src/documents/patch-document.ts'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests()

const patch = (path: string, body: unknown, headers = {}) =>
  server.call('PATCH', `/rest/${path}`, { body, headers })

/** The examples of RFC 7396, appendix A, between objects. */
test.each([
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ['{"__proto__":{"a":1}}', '{"__proto__":{"b":2}}', '{"__proto__":{"a":1,"b":2}}'],
])('%s patched with %s is %s', (target, change, result) => {
  expect(JSON.stringify(mergePatch(JSON.parse(target), JSON.parse(change)))).toBe(result)
})

test('a patch without nulls is there after merging, and merging it again changes nothing', () => {
  const value = fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.dictionary(fc.string(), fc.integer())))
  fc.assert(
    fc.property(value, value, (target, change) => {
      const once = mergePatch(target, change)
      expect(once).toMatchObject(change)
      expect(mergePatch(once, change)).toEqual(once)
    }),
  )
})

describe('PATCH', () => {
  test('PATCH changes the fields that it names and leaves the others in their places', async () => {
    const { json: before } = await server.call('PUT', '/rest/tasks/1', { body: bodies.tasks })
    const response = await patch('tasks/1', { name: 'New', context: { a: { b: null, c: 1 } }, extId: null })
    expect(response.status).toBe(200)
    const { extId, ...rest } = bodies.tasks
    expect(response.json).toEqual({
      ...before,
      ...rest,
      name: 'New',
      context: { a: { c: 1 } },
      extId: undefined,
      updatedAt: expect.any(String),
    })
    expect((await server.call('GET', '/rest/tasks/1')).text).toBe(response.text)
    expect(response.headers.get('etag')).toBe('"2"')
  })

  test('PATCH accepts application/json and application/merge-patch+json, and no other media type', async () => {
    const type = (name: string) => patch('tasks/1', { name: 'x' }, { 'content-type': name })
    expect((await type('application/merge-patch+json')).status).toBe(200)
    expect((await type('application/json; charset=utf-8')).status).toBe(200)
    expect((await type('application/json-patch+json')).status).toBe(415)
  })

  test('PATCH refuses what breaks the schema, and unknown fields', async () => {
    for (const body of [
      { name: null },
      { workflow: 'x' },
      { status: 'completed' },
      { nmae: 'x' },
      { nmae: null },
      [],
      null,
      'x',
    ]) {
      expect([body, (await patch('tasks/1', body)).status]).toEqual([body, 422])
    }
    expect((await server.call('PATCH', '/rest/tasks/1')).status).toBe(422)
    expect((await patch('tasks/1', { _id: 9, createdAt: 'x', name: 'Kept' })).json).toMatchObject({
      _id: 1,
      name: 'Kept',
    })
  })

  test('PATCH needs an existing document, a permission and its preconditions', async () => {
    expect((await patch('tasks/999', { name: 'x' })).status).toBe(404)
    expect((await patch('tasks/x', { name: 'x' })).status).toBe(400)
    expect((await server.call('PATCH', '/rest/tasks/1', { body: {}, role: 'VIEWER' })).status).toBe(403)
    expect((await patch('tasks/1', {}, { 'if-match': '"0"' })).status).toBe(412)
  })

  test('PATCH addresses a config by its key', async () => {
    await server.call('PUT', '/rest/configs/provider', { body: bodies.configs })
    const response = await patch('configs/provider', { value: { model: 'y' } })
    expect(response.json.value).toEqual({ ...(bodies.configs.value as object), model: 'y' })
  })
})

test('100 patches at once, through two instances of the service, lose nothing', async () => {
  const other = await server.startInstance()
  await server.call('PUT', '/rest/tasks/7', { body: { ...bodies.tasks, context: {} } })
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      (at % 2 === 0 ? server : other).call('PATCH', '/rest/tasks/7', {
        body: { context: { [`k${at}`]: at } },
      }),
    ),
  )
  expect(responses.map(({ status }) => status)).toEqual(Array(100).fill(200))
  const { json, headers } = await server.call('GET', '/rest/tasks/7')
  expect(Object.keys(json.context)).toHaveLength(100)
  expect(headers.get('etag')).toBe('"101"')
})
