import { expect, test } from '@jest/globals'
import type { JsonObject } from '@parley/shared/json-object'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests()
const put = (path: string, body: unknown) => server.call('PUT', `/rest/${path}`, { body, workspace: 1 })
const binding = (bound: unknown, ownerType = 'action') =>
  put('configs/1', { name: 'settings', owner: 1, ownerType, value: { 'x-parley-value': bound } })
const specWith = (line: string) => `openapi: 3.1.0
info: { title: t, version: '1', description: &person '{{person.fone}}' }
paths:
  /a:
    get:
      operationId: a
      parameters:
        - name: p
          in: query
          ${line}
`
const action = (line: string) =>
  put('actions/1', { ...bodies.actions, moduleUrl: 'native:request', spec: specWith(line) })
const errorsOf = (json: JsonObject) => (json as { errors: { path: string; message: string }[] }).errors

test.each([
  [{ id: '{{person.fone}}' }, '/id', 'is no variable'],
  [{ refund: { '/a/b': '{{customer}}' } }, '/~1a~1b', 'is no variable'],
  [{ id: '{{person.phone' }, '/id', 'has braces'],
  [{ id: ['{{person.phone}}'] }, '/id', 'in quotes'],
  ['{{person.phone}}', '', 'is no object'],
])('a config that binds an argument to what there is not is refused: %j', async (bound, at, reason) => {
  const { status, json } = await binding(bound)
  expect(status).toBe(422)
  expect(errorsOf(json)).toEqual([
    { path: `/value/x-parley-value${at}`, code: 'invalid_value', message: expect.stringContaining(reason) },
  ])
})

test('what is a variable is stored, and so is what is no config of an action', async () => {
  const bound = { id: '{{person.phone}}', 'filter[a]': 'tel:{{ thread.ctx.order }}', act: { '/a/*/b': 5 } }
  expect((await binding(bound)).status).toBe(200)
  expect((await binding({ id: '{{x}}' }, 'assistant')).status).toBe(200)
})

test.each([
  ['x-parley-value: "{{person.fone}}"', '\\"{{person.fone}}\\" is no variable'],
  ['x-parley-value: {{person.phone}}', 'in quotes'],
  ["'x-parley-value': '{{thread}}'", 'is no variable'],
  ['schema: {"x-parley-value":"{{a.b}}","type":"string"}', 'is no variable'],
])('a spec that binds a parameter to what there is not is refused: %s', async (line, reason) => {
  const { status, json } = await action(line)
  expect(status).toBe(422)
  expect(errorsOf(json)).toMatchObject([{ path: '/spec' }])
  expect(JSON.stringify(json)).toContain(reason)
})

test('a spec that binds what there is is sound, and what its text does not show is a finding', async () => {
  const check = async () => {
    const { json } = await server.call('GET', '/rest/check', { workspace: 1 })
    return json.data.filter(({ resource }: { resource: string }) => resource === 'actions')
  }
  expect((await action('x-parley-value: "{{person.phone}}"')).status).toBe(200)
  expect(await check()).toEqual([])
  expect((await action('x-parley-value: *person')).status).toBe(200)
  expect(await check()).toMatchObject([
    { code: 'bad_spec', path: '/spec', message: expect.stringContaining('fone') },
  ])
})
