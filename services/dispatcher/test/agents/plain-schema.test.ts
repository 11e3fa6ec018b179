import { describe, expect, test } from '@jest/globals'
import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { plainSchema } from '../../src/agents/model/plain-schema.ts'
import { modelSchema } from '../../src/functions/model-schema.ts'

describe('a schema for a server that speaks OpenAI’s protocol before any model', () => {
  const words = (values: string) => `One of these values, exactly: ${values}`
  test.each<[string, object, object]>([
    ['a type or null', { type: ['string', 'null'] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    [
      'a list or null, whose items stand with the list',
      { type: ['array', 'null'], description: 'd', items: { type: 'string' }, maxItems: 3 },
      {
        description: 'd',
        anyOf: [{ type: 'array', items: { type: 'string' }, maxItems: 3 }, { type: 'null' }],
      },
    ],
    ['one type in a list', { type: ['integer'], minimum: 1 }, { type: 'integer', minimum: 1 }],
    [
      'numbers to choose from, in words',
      { type: 'integer', description: 'Minutes.', enum: [60, 1440] },
      { type: 'integer', description: `Minutes. ${words('60,1440')}` },
    ],
    ['texts to choose from', { type: 'string', enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['texts without a type', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['a constant text', { const: 'a' }, { type: 'string', enum: ['a'] }],
    ['a constant number', { const: 1 }, { type: 'number', description: words('1') }],
    ['a truth value', { type: 'boolean', enum: [true] }, { type: 'boolean', description: words('true') }],
    [
      'texts, numbers and null',
      { enum: ['a', 1, null] },
      {
        anyOf: [
          { type: 'string', enum: ['a'] },
          { type: 'number', description: words('1') },
          { type: 'null' },
        ],
      },
    ],
    [
      'what it has inside',
      { type: 'object', properties: { a: { enum: [1] } }, additionalProperties: { type: ['null'] } },
      {
        type: 'object',
        properties: { a: { type: 'number', description: words('1') } },
        additionalProperties: { type: 'null' },
      },
    ],
    [
      'parts that say it',
      { type: ['string', 'null'], anyOf: [{ type: 'string' }] },
      { anyOf: [{ type: 'string' }] },
    ],
    ['nothing', {}, {}],
  ])('has %s', (_what, given, expected) => {
    expect(plainSchema(given as Record<string, unknown>)).toEqual(expected)
  })

  test('has no list of types and no choice that is no text, and takes all that the other takes', () => {
    const type = fc.constantFrom('string', 'integer', 'number', 'boolean', 'null', 'array', 'object')
    const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
    const { schema } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 2 },
        fc.constant({}),
        fc.record(
          {
            type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
            enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3 }),
            minLength: fc.nat(3),
            maximum: fc.integer(),
            items: tie('schema'),
            properties: fc.record({ a: tie('schema') }),
            anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
          },
          { requiredKeys: [] },
        ),
      ),
    }))
    const ajv = new Ajv({ strict: false })
    fc.assert(
      fc.property(schema, fc.jsonValue({ maxDepth: 2 }), value, (given, json, plain) => {
        const shown = modelSchema({ dialect: '2020-12', root: {} }, given)
        const made = plainSchema(shown)
        for (const one of schemasIn(made)) {
          expect(Array.isArray(one.type)).toBe(false)
          if (one.enum !== undefined)
            expect([one.type, ...(one.enum as unknown[]).map((v) => typeof v)]).toEqual([
              'string',
              ...(one.enum as unknown[]).map(() => 'string'),
            ])
        }
        for (const one of [json, plain])
          if (ajv.validate(shown, one)) expect(ajv.validate(made, one)).toBe(true)
      }),
    )
  })
})

function schemasIn(schema: Record<string, unknown>): Record<string, unknown>[] {
  const { items, properties = {}, anyOf = [] } = schema
  const inner = [...Object.values(properties as object), ...(anyOf as object[]), ...(items ? [items] : [])]
  return [schema, ...inner.flatMap((one) => schemasIn(one as Record<string, unknown>))]
}
