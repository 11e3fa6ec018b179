import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { withOwnNames, withPlainNames } from '../../src/agents/tools/property-names.ts'
import { runSpecTask } from '../../src/functions/spec-task.ts'
import { actionOf, agentOf, callTool, startTools } from '../agent-world.ts'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'

const NAME = /^[a-zA-Z0-9_.-]{1,64}$/
let endpoint: CallEndpoint
const tools = startTools({ post: async () => undefined })
beforeAll(async () => {
  endpoint = await startCallEndpoint()
})
afterAll(async () => {
  await tools.close()
  await endpoint.close()
})

const namesIn = (schema: unknown): string[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {} } = schema as { properties?: object }
  return [...Object.keys(properties), ...Object.values(schema).flatMap(namesIn)]
}

describe('names of properties that a provider refuses', () => {
  test('are others for the model, and their own in the call', async () => {
    const query = (name: string, schema: object) => ({ in: 'query', name, schema })
    const text = { type: 'string' }
    const body = {
      type: 'object',
      required: ['@type'],
      properties: { '@type': text, lines: { type: 'array', items: { properties: { 'unit price': text } } } },
    }
    const paths = {
      '/articles': {
        post: {
          operationId: 'listArticles',
          parameters: [
            query('page[size]', { type: 'integer' }),
            query('filter[status]', text),
            query('$top', { type: 'integer' }),
            query('top', text),
            query('ids[]', { type: 'array', items: text }),
          ],
          requestBody: { required: true, content: { 'application/json': { schema: body } } },
        },
      },
    }
    const document = { openapi: '3.0.3', info: {}, servers: [{ url: endpoint.url }], paths }
    const action = actionOf({ _id: 71, spec: JSON.stringify(document) })
    const toolbox = await tools.open(agentOf([action]))
    const schema = toolbox.descriptions.at(-1)?.inputSchema
    for (const name of namesIn(schema)) expect(name).toMatch(NAME)
    expect(schema).toMatchObject({ required: ['type'] })
    await callTool(toolbox, 'listArticles', {
      ...{ page_size: 5, filter_status: 'open', top_2: 3, top: 'x', ids: ['a', 'b'] },
      ...{ type: 'Article', lines: [{ unit_price: '5' }] },
    })
    const [call] = endpoint.calls
    expect([...new URLSearchParams(call?.path.split('?')[1])]).toEqual([
      ['page[size]', '5'],
      ['filter[status]', 'open'],
      ['$top', '3'],
      ['top', 'x'],
      ['ids[]', 'a'],
      ['ids[]', 'b'],
    ])
    expect(JSON.parse(call?.text ?? '')).toEqual({ '@type': 'Article', lines: [{ 'unit price': '5' }] })
  })

  test('are told apart whatever they are, and every value comes back under its own', () => {
    const name = fc.oneof(
      fc.string({ unit: fc.constantFrom('$', '[', ']', 'a', '_', ' ', '2', '.') }),
      fc.string(),
      fc.constantFrom('__proto__', 'x'.repeat(80), `${'x'.repeat(80)}y`),
    )
    const { schema } = fc.letrec((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3 },
        fc.constant({ type: 'string' }),
        fc.record({
          type: fc.constant('object'),
          properties: fc.dictionary(name, tie('schema'), { noNullPrototype: true }),
        }),
        fc.record({ type: fc.constant('array'), items: tie('schema') }),
      ),
    }))
    type Made = { type: string; properties?: Record<string, Made>; items?: Made }
    /** A value that has all that a schema names. */
    const filled = ({ properties, items, type }: Made): unknown => {
      if (type === 'array') return items === undefined ? [] : [filled(items), filled(items)]
      if (properties === undefined) return 'text'
      return Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, filled(one)]))
    }
    fc.assert(
      fc.property(schema, (given) => {
        const shown = withPlainNames(given as Record<string, unknown>)
        for (const one of namesIn(shown)) expect(one).toMatch(NAME)
        expect(withOwnNames(given, filled(shown as Made))).toEqual(filled(given as Made))
      }),
    )
  })
})

describe('what providers refuse with all of a request is not in the schema of a tool', () => {
  const shown = (inputSchema: object) => {
    const spec = JSON.stringify([{ name: 'a', description: '', inputSchema }])
    const result = runSpecTask({ kind: 'server_tools', workspace: 1, key: 'k', spec }, () => {
      throw new Error('no spec')
    })
    return result.kind === 'tools' ? result.tools[0]?.inputSchema : undefined
  }

  test('neither alternatives of all arguments, whose properties are shown as its own', () => {
    const one = { properties: { a: { type: 'string' } }, required: ['a'] }
    const two = { properties: { b: { type: 'string' } }, required: ['b'] }
    const inputSchema = { type: 'object', properties: { c: {} }, required: ['c'], anyOf: [one, two] }
    expect(shown(inputSchema)).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' }, c: {} },
      required: ['c'],
    })
    expect(shown({ allOf: [one, two] })).toMatchObject({ type: 'object', required: ['a', 'b'] })
  })

  test.each([
    ['lists of nothing that is known', { type: 'array' }, { type: 'array', items: {} }],
    ['types that are none', { type: 'file', description: 'd' }, { description: 'd' }],
    ['some types that are none', { type: ['string', 'any'] }, { type: ['string'] }],
    ['choices of nothing', { type: 'string', enum: [] }, { type: 'string' }],
    ['what is required twice, or is no name', { required: ['a', 'a', 1] }, { required: ['a'] }],
  ])('nor %s', (_what, given, expected) => {
    const { properties = {} } = shown({ type: 'object', properties: { x: given } }) ?? {}
    expect(properties).toEqual({ x: expected })
  })
})
