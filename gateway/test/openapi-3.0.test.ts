import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { renderOpenApi30 } from '../src/openapi-3.0.ts'

const document = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))
const rendered = renderOpenApi30(document) as typeof document

test('the 3.0 rendering of the document is valid OpenAPI 3.0', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(rendered))
  expect([valid, errors]).toEqual([true, undefined])
  expect(rendered.openapi).toBe('3.0.3')
})

test('the 3.0 rendering has all of the document but its webhooks', () => {
  const names = (described: typeof document) => [
    ...Object.entries<object>(described.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    ),
    ...Object.entries<object>(described.components).flatMap(([kind, parts]) =>
      Object.keys(parts).map((name) => `${kind} ${name}`),
    ),
  ]
  expect(names(rendered)).toEqual(names(document))
  expect(rendered).not.toHaveProperty('webhooks')
  expect(rendered.components.examples).toEqual(document.components.examples)
})

test.each([
  ['a type that may be null', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
  [
    'several types',
    { type: ['string', 'boolean', 'null'] },
    { anyOf: [{ type: 'string' }, { type: 'boolean' }], nullable: true },
  ],
  [
    'a schema or null',
    { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }], description: 'A job' },
    { type: 'integer', minimum: 1, description: 'A job', nullable: true },
  ],
  [
    'a reference or null',
    { anyOf: [{ $ref: '#/components/schemas/Job' }, { type: 'null' }] },
    { allOf: [{ $ref: '#/components/schemas/Job' }], nullable: true },
  ],
  [
    'one of several, or null',
    { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] },
    { anyOf: [{ type: 'integer' }, { type: 'string' }], nullable: true },
  ],
  [
    'a bound that is not in the range',
    { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
    { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true },
  ],
  ['a constant', { const: 'live' }, { type: 'string', enum: ['live'] }],
  [
    'a reference with a description',
    { $ref: '#/components/schemas/Job', description: 'Its job' },
    { allOf: [{ $ref: '#/components/schemas/Job' }], description: 'Its job' },
  ],
  [
    'what is inside of another schema, where a property has the name of a keyword',
    { type: 'array', items: { type: 'object', properties: { const: { type: ['string', 'null'] } } } },
    {
      type: 'array',
      items: { type: 'object', properties: { const: { type: 'string', nullable: true } } },
    },
  ],
])('%s is rendered as 3.0 has it', (_what, schema, expected) => {
  const info = { title: 'Test', license: { name: 'MIT' } }
  const { components } = renderOpenApi30({
    info,
    components: { schemas: { One: schema } },
  }) as typeof document
  expect(components.schemas.One).toEqual(expected)
})
