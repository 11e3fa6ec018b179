import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { parseExact } from '@parley/shared/parse-json'
import fc from 'fast-check'
import type { Toolbox } from '../../src/agents/toolbox.ts'
import { argumentSchema, checkBy } from '../../src/functions/argument-schema.ts'
import { ArgsError, parseSpec } from '../../src/functions/spec-document.ts'
import { actionOf, agentOf, startTools } from '../agent-world.ts'
import { speaking, tool } from '../agents/mcp-server.ts'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'

let endpoint: CallEndpoint
const posted: unknown[] = []
const tools = startTools({
  post: async (_path, body) => {
    posted.push(body)
    return { state: 'done', text: 'done' }
  },
})

beforeAll(async () => {
  endpoint = await startCallEndpoint()
})
afterAll(async () => {
  await tools.close()
  await endpoint.close()
})
beforeEach(() => {
  endpoint.forget()
  posted.length = 0
})

const ID = '1917043659912705296'

const specOf = (server: string) => `
openapi: 3.0.3
info: { title: T, version: '1' }
servers: [{ url: '${server}' }]
paths:
  /tweets/{id}:
    delete:
      operationId: deleteTweet
      parameters: [{ name: id, in: path, required: true, schema: { type: integer, format: int64 } }]
  /orders:
    post:
      operationId: order
      parameters:
        - { name: page, in: query, schema: { type: number } }
        - { name: ids, in: query, schema: { type: array, items: { type: integer } } }
        - { name: X-Tenant, in: header, schema: { type: integer, nullable: true } }
      requestBody:
        content: { application/json: { schema: { type: object } } }
  /lists:
    get:
      operationId: list
      parameters:
        - { name: list, in: query, description: Which, schema: { type: integer, enum: [9007199254740993, 7] } }
`

const operations = (more = {}) => agentOf([actionOf({ _id: 1, spec: specOf(endpoint.url), ...more })])

async function call(toolbox: Toolbox, name: string, args: string) {
  const opened = await toolbox.open({ tool: name, args })
  return opened.kind === 'call' ? opened.deliver('m:0') : opened
}

describe('a number that no double prints', () => {
  test('is what the model wrote in path, query, header and body', async () => {
    const toolbox = await tools.open(operations())
    await call(toolbox, 'deleteTweet', `{"id": ${ID}}`)
    const args = `{"page": 0.1000000000000000055, "ids": [${ID}, 2], "X-Tenant": ${ID}, "orderId": 725653563933458432, "deep": [{"at": -${ID}}], "one": 1.50}`
    await call(toolbox, 'order', args)
    expect(endpoint.paths()).toEqual([`/tweets/${ID}`, `/orders?page=0.1000000000000000055&ids=${ID}&ids=2`])
    expect(endpoint.calls[1]?.headers['x-tenant']).toBe(ID)
    expect(endpoint.calls[1]?.text).toBe(`{"orderId":725653563933458432,"deep":[{"at":-${ID}}],"one":1.5}`)
  })

  test('is what the model wrote in the call of a module', async () => {
    const toolbox = await tools.open(operations({ _id: 2, moduleUrl: `${endpoint.url}/module` }))
    await call(toolbox, 'deleteTweet', `{"id": ${ID}}`)
    expect(endpoint.calls[0]?.text).toContain(`"args":{"id":${ID}}`)
  })

  test('is what the model wrote in the call of an MCP server, and what the server wrote in its result', async () => {
    const inputSchema = { type: 'object', properties: { id: { type: 'integer', enum: ['?'] } } }
    const speak = speaking(
      () => ({ tools: [tool('work', { inputSchema })] }),
      () => ({ content: [], structuredContent: { id: '?', ids: ['?'] } }),
    )
    endpoint.respond = (one, res) => {
      const { end } = res
      res.end = ((body?: unknown) =>
        end.call(res, String(body ?? '').replaceAll('"?"', ID), 'utf8')) as typeof res.end
      speak(one, res)
    }
    const server = actionOf({ _id: 3, specType: 'mcp', moduleUrl: `${endpoint.url}/mcp` })
    const toolbox = await tools.open(agentOf([server]))
    expect(JSON.stringify(toolbox.descriptions.at(-1))).toContain(`exactly: ${ID}`)
    const outcome = await call(toolbox, 'work', `{"id": ${ID}}`)
    const called = endpoint.calls.find(({ text: body }) => body.includes('"tools/call"'))
    expect(called?.text).toContain(`"arguments":{"id":${ID}}`)
    expect(outcome).toMatchObject({ result: { text: `{"id":${ID},"ids":[${ID}]}` } })
    expect(await call(toolbox, 'work', '{"id": 1917043659912705297}')).toMatchObject({ kind: 'invalid' })
  })

  test('is in the result of an operation as the server wrote it', async () => {
    endpoint.respond = (_call, res) => void res.writeHead(200).end(`{"id":${ID}}`)
    expect(await call(await tools.open(operations()), 'deleteTweet', '{"id": 1}')).toMatchObject({
      result: { text: `{"id":${ID}}` },
    })
  })

  test('is refused where it would be stored as another one, with the place', async () => {
    const toolbox = await tools.open(agentOf([], 'taskManager'))
    const reason = expect.stringMatching(/^The argument \/a\/0 is an integer that would be changed/)
    expect(await call(toolbox, 'submit', `{"a": [${ID}]}`)).toEqual({ kind: 'invalid', reason })
    expect(await call(toolbox, 'setState', `{"key": "k", "value": ${ID}}`)).toMatchObject({ kind: 'invalid' })
    await call(toolbox, 'submit', '{"a": 9007199254740992, "b": 0.1}')
    expect(posted).toMatchObject([{ operation: { submit: { a: 9007199254740992, b: 0.1 } } }])
  })

  test('is out of range where no number of JSON is so large', async () => {
    expect(await call(await tools.open(operations()), 'order', '{"page": 1e400}')).toEqual({
      kind: 'invalid',
      reason: 'The argument /page is out of range.',
    })
  })

  test('among the values of a schema is told to the model in words, and decides', async () => {
    const toolbox = await tools.open(operations())
    const list = toolbox.descriptions.find(({ name }) => name === 'list')
    expect(list?.inputSchema.properties).toEqual({
      list: { type: 'integer', description: 'Which One of these values, exactly: 9007199254740993,7' },
    })
    expect((await call(toolbox, 'list', '{"list": 9007199254740993}')).kind).toBe('answered')
    expect((await call(toolbox, 'list', '{"list": 7}')).kind).toBe('answered')
    expect(await call(toolbox, 'list', '{"list": 9007199254740992}')).toMatchObject({ kind: 'invalid' })
  })
})

/** True if a value fits a schema of a spec in YAML. */
function fits(schema: string, value: string): boolean {
  const document = parseSpec(`openapi: 3.1.0\ncomponents: { schemas: { S: ${schema} } }`)
  const check = checkBy(argumentSchema(document, { $ref: '#/components/schemas/S' }))
  try {
    check(parseExact(value), '')
    return true
  } catch (error) {
    if (error instanceof ArgsError) return false
    throw error
  }
}

test.each<[schema: string, right: string[], wrong: string[]]>([
  ['{ type: integer }', [ID, `-${ID}`, `${ID}.0`], [`${ID}.5`, '0.1000000000000000055', `"${ID}"`]],
  ['{ type: number }', [ID, '0.1000000000000000055'], [`"${ID}"`]],
  ['{ type: string }', [`"${ID}"`], [ID]],
  ['{ type: string, maxLength: 3 }', ['"abc"'], [ID, '"abcd"']],
  ['{ type: [integer, "null"] }', [ID, 'null'], ['"a"']],
  [
    '{ type: integer, format: int64 }',
    ['9223372036854775807', '-9223372036854775808'],
    ['9223372036854775808'],
  ],
  ['{ type: integer, format: int32 }', ['2147483647'], [ID]],
  ['{ maximum: 9223372036854775807 }', ['9223372036854775807', '1'], ['9223372036854775808', '1e19']],
  ['{ minimum: 9007199254740993 }', ['9007199254740993', ID], ['9007199254740992', '9007199254740991', '1']],
  ['{ exclusiveMaximum: 9007199254740993 }', ['9007199254740992', '1'], ['9007199254740993', ID]],
  ['{ exclusiveMinimum: 9007199254740993 }', ['9007199254740994'], ['9007199254740993', '9007199254740992']],
  ['{ multipleOf: 3 }', ['9007199254740993', '9'], ['9007199254740995', '10']],
  ['{ enum: [9007199254740993, a] }', ['9007199254740993', '"a"'], ['9007199254740992', '9007199254740994']],
  ['{ const: { id: 9007199254740993 } }', ['{"id": 9007199254740993}'], ['{"id": 9007199254740992}']],
  ['{ not: { const: 9007199254740993 } }', ['9007199254740992', ID], ['9007199254740993']],
  ['{ anyOf: [{ maximum: 5 }, { const: 9007199254740993 }] }', ['9007199254740993', '4'], [ID]],
  ['{ oneOf: [{ type: integer }, { type: string }] }', [ID, '"a"'], ['true']],
  [
    '{ uniqueItems: true }',
    ['[9007199254740993, 9007199254740992]'],
    ['[9007199254740993, 9007199254740993.0]'],
  ],
  ['{ properties: { a: { items: { type: integer } } } }', [`{"a": [${ID}]}`], [`{"a": ["x", ${ID}]}`]],
  ['{ additionalProperties: { maximum: 10 } }', ['{"a": 1}'], [`{"a": 1, "b": ${ID}}`]],
  ['{ properties: { a: {} }, unevaluatedProperties: false }', [`{"a": ${ID}}`], [`{"b": ${ID}}`]],
])('a schema %s takes and refuses numbers by what they are', (schema, right, wrong) => {
  for (const value of right) expect([value, fits(schema, value)]).toEqual([value, true])
  for (const value of wrong) expect([value, fits(schema, value)]).toEqual([value, false])
})

test('a schema decides of integers as exact arithmetic does, on both sides of what doubles hold', () => {
  const integer = fc.oneof(
    fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }),
    fc.bigInt({ min: 2n ** 53n - 4n, max: 2n ** 53n + 4n }),
    fc.bigInt({ min: -9n, max: 9n }),
  )
  const property = fc.property(integer, integer, fc.bigInt({ min: 1n, max: 9n }), (value, bound, factor) => {
    const text = String(value)
    expect(fits(`{ minimum: ${bound} }`, text)).toBe(value >= bound)
    expect(fits(`{ exclusiveMaximum: ${bound} }`, text)).toBe(value < bound)
    expect(fits(`{ enum: [${bound}] }`, text)).toBe(value === bound)
    expect(fits(`{ type: integer, multipleOf: ${factor} }`, text)).toBe(value % factor === 0n)
  })
  fc.assert(property, { numRuns: 300 })
})
