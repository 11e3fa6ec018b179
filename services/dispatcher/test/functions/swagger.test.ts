import { describe, expect, test } from '@jest/globals'
import { readSpec, runSpecTask } from '../../src/functions/spec-task.ts'
import { askSpec } from './ask-spec.ts'

const schema = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, id: { type: 'integer', readOnly: true } },
}
const swagger = (paths: object, more: object = {}) =>
  JSON.stringify({
    ...{ swagger: '2.0', info: {}, host: 'pets.example', basePath: '/v2', schemes: ['http', 'https'], paths },
    definitions: { Pet: schema },
    parameters: { Pet: { name: 'pet', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } } },
    securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'api_key' }, basic: { type: 'basic' } },
    ...more,
  })
const operation = (given: object, item: object = {}) => ({
  '/pets/{id}': { ...item, post: { operationId: 'act', ...given } },
})
const sent = (spec: string, args: object) => {
  const result = askSpec(spec, 'act', args)
  if (result.kind !== 'request') throw new Error(JSON.stringify(result))
  return result
}
const toolOf = (spec: string) => {
  const result = runSpecTask({ kind: 'tools', workspace: 1, key: 'k', spec }, () => readSpec(spec))
  return result.kind === 'tools' ? result.tools[0]?.inputSchema : result
}
const id = { name: 'id', in: 'path', required: true, type: 'integer', maximum: 9 }

describe('a document of Swagger 2.0', () => {
  test('is read: server, parameters of path and operation, references, a body without what is read only', () => {
    const spec = swagger(
      operation(
        { parameters: [{ $ref: '#/parameters/Pet' }], security: [{ basic: [] }] },
        { parameters: [id] },
      ),
    )
    expect(toolOf(spec)).toEqual({
      ...{ type: 'object', properties: { id: { type: 'integer', maximum: 9 }, name: { type: 'string' } } },
      ...{ required: ['id', 'name'], additionalProperties: true },
    })
    expect(sent(spec, { id: 5, name: 'Rex' })).toMatchObject({
      request: {
        url: 'https://pets.example/v2/pets/5',
        headers: { 'content-type': 'application/json' },
        body: '{"name":"Rex"}',
      },
      security: [[{ id: 'basic', kind: 'basic' }]],
    })
    expect(askSpec(spec, 'act', { id: 10, name: 'Rex' })).toMatchObject({ kind: 'bad_args', path: '/id' })
    expect(askSpec(spec, 'act', { id: 1 })).toMatchObject({ kind: 'bad_args', path: '/name' })
  })

  test.each([
    [undefined, 'tags=a,b'],
    ['csv', 'tags=a,b'],
    ['ssv', 'tags=a%20b'],
    ['pipes', 'tags=a%7Cb'],
    ['multi', 'tags=a&tags=b'],
  ])('writes lists between what collectionFormat says: %s', (collectionFormat, query) => {
    const list = { name: 'tags', in: 'query', type: 'array', items: { type: 'string' }, collectionFormat }
    const spec = swagger(operation({ parameters: [id, list] }))
    expect(sent(spec, { id: 1, tags: ['a', 'b'] }).request.url).toBe(
      `https://pets.example/v2/pets/1?${query}`,
    )
  })

  test('sends fields as a form, files and what consumes says as multipart', () => {
    const field = (name: string, more: object) => ({ name, in: 'formData', ...more })
    const fields = [
      field('name', { type: 'string', required: true }),
      field('tags', { type: 'array', items: { type: 'string' }, collectionFormat: 'multi' }),
    ]
    const form = sent(swagger(operation({ parameters: [id, ...fields] })), {
      id: 1,
      name: 'Rex',
      tags: ['a', 'b'],
    })
    expect(form.request).toMatchObject({
      ...{ body: 'name=Rex&tags=a&tags=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    })
    const withFile = swagger(operation({ parameters: [id, ...fields, field('photo', { type: 'file' })] }))
    expect(sent(withFile, { id: 1, name: 'Rex', photo: 'x' }).request.body).toContain(
      'name="photo"; filename="photo"',
    )
    const consumes = swagger(operation({ consumes: ['multipart/form-data'], parameters: [id, ...fields] }))
    expect(sent(consumes, { id: 1, name: 'Rex' }).request.headers['content-type']).toMatch(/^multipart/)
  })

  test('without a host is of the server that the module names, and binds values', () => {
    const bound = { ...id, type: 'string', 'x-parley-value': '{{person.phone}}' }
    const spec = swagger(operation({ parameters: [bound] }), { host: undefined })
    const task = {
      kind: 'request',
      workspace: 1,
      key: 'k',
      spec,
      operationId: 'act',
      args: '{"id":"x"}',
    } as const
    const context = {
      person: { phone: '1' },
      thread: { extId: 't' },
      channel: { _id: 1 },
      workspace: { _id: 1 },
    }
    const moduleUrl = 'native:request?server=https://other.example'
    expect(runSpecTask({ ...task, moduleUrl, context }, () => readSpec(spec))).toMatchObject({
      request: { url: 'https://other.example/v2/pets/1' },
    })
  })

  test('that is broken is refused, whatever is in the place of what', () => {
    for (const paths of [
      null,
      [],
      { '/a': null },
      { '/a': { get: [] } },
      { '/a': { get: { operationId: 'act', parameters: [null, 1] } } },
    ])
      expect(['bad_spec', 'request']).toContain(askSpec(swagger(paths as object), 'act', {}).kind)
    const circle = { parameters: { A: { $ref: '#/parameters/A' } } }
    expect(
      askSpec(swagger(operation({ parameters: [{ $ref: '#/parameters/A' }] }), circle), 'act', {}).kind,
    ).toBe('bad_spec')
  })
})
