import { expect, test } from '@jest/globals'
import { cutSpec } from '../src/commands/spec.ts'

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })
const operation = (operationId: string, more: object = {}) => ({
  ...{ operationId, responses: { 200: ref('responses', 'Whole') } },
  ...more,
})
const root = {
  ...{ openapi: '3.0.3', servers: [{ url: 'https://api.example' }], webhooks: { a: {} }, 'x-more': 1 },
  paths: {
    '/a/{id}': {
      parameters: [ref('parameters', 'Id')],
      get: operation('readA'),
      post: operation('writeA', { requestBody: ref('requestBodies', 'A'), tags: ['writing'] }),
    },
    '/b': { get: operation('readB', { tags: ['b'] }) },
  },
  components: {
    parameters: { Id: { name: 'id', in: 'path', schema: ref('schemas', 'Id') }, Other: {} },
    requestBodies: { A: { content: { 'application/json': { schema: ref('schemas', 'A') } } } },
    schemas: {
      Id: {},
      A: { properties: { parent: ref('schemas', 'A'), b: ref('schemas', 'B') } },
      B: {},
      Whole: {},
    },
    responses: { Whole: {} },
    securitySchemes: { key: { type: 'apiKey' } },
  },
}

test('a spec is cut to operations by ids and tags, with what they refer to however far', () => {
  const cut = cutSpec(root, ['writing'])
  expect(cut).toEqual({
    ...{ openapi: '3.0.3', servers: root.servers, 'x-more': 1 },
    paths: {
      '/a/{id}': {
        parameters: [ref('parameters', 'Id')],
        post: { ...operation('writeA', root.paths['/a/{id}'].post), responses: {} },
      },
    },
    components: {
      parameters: { Id: root.components.parameters.Id },
      requestBodies: root.components.requestBodies,
      schemas: { Id: {}, A: root.components.schemas.A, B: {} },
      responses: {},
      securitySchemes: root.components.securitySchemes,
    },
  })
  expect(Object.keys(cutSpec(root, ['readB', 'readA']).paths as object)).toEqual(['/a/{id}', '/b'])
})

test('without a choice a spec has all its operations, without what they answer with', () => {
  const cut = cutSpec(root, [])
  expect(JSON.stringify(cut)).not.toContain('Whole')
  expect(JSON.stringify(cut)).toContain('readB')
})
