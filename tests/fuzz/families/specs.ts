import fc from 'fast-check'
import { type FuzzCase, ordinaryHeaders } from '../fuzz-case.ts'

const ACTION = '/rest/actions/77'
const MAX_CHARACTERS = 500_000

const named = { name: 'Spec', description: '' }
const request = (method: string, target: string, body?: object): FuzzCase => ({
  kind: 'spec',
  caller: 'WORKSPACE_ADMIN',
  method,
  target,
  headers: ordinaryHeaders({ caller: 'WORKSPACE_ADMIN', hasBody: body !== undefined }),
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
})

const repeated = (text: string, times: number) =>
  text.repeat(Math.min(times, Math.floor(MAX_CHARACTERS / text.length)))
const listed = (count: number, one: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => one(n)).join(', ')

/** Each step is aliases of the one before. */
const bomb = fc
  .record({
    steps: fc.integer({ min: 1, max: 60 }),
    width: fc.integer({ min: 1, max: 12 }),
    map: fc.boolean(),
  })
  .map(({ steps, width, map }) => {
    const step = (n: number) => {
      const item = n === 0 ? '"lollollol"' : `*b${n - 1}`
      return map ? `{ ${listed(width, (m) => `k${m}: ${item}`)} }` : `[${listed(width, () => item)}]`
    }
    return {
      before: Array.from({ length: steps }, (_, n) => `b${n}: &b${n} ${step(n)}`).join('\n'),
      schema: `*b${steps - 1}`,
    }
  })
const longScalars = fc
  .record({ length: fc.integer({ min: 1, max: 200_000 }), times: fc.integer({ min: 1, max: 30_000 }) })
  .map(({ length, times }) => ({
    before: `b: &b "${'x'.repeat(length)}"`,
    schema: `[${repeated('*b, ', times)}]`,
  }))
const merges = fc
  .record({ keys: fc.integer({ min: 1, max: 3_000 }), times: fc.integer({ min: 1, max: 6_000 }) })
  .map(({ keys, times }) => ({
    before: `m: &m { ${listed(keys, (n) => `k${n}: 1`)} }\nq: [${repeated('{<<: *m}, ', times)}]`,
    schema: '*m',
  }))
const cycles = fc
  .constantFrom('b: &b [*b]', 'b: &b { c: { d: *b } }', 'a: &b { *b : 1 }')
  .map((before) => ({ before, schema: '*b' }))
const plain = fc
  .record({
    unit: fc.constantFrom('a, ', '[], ', '{}, ', '"\\0", ', '1e9, '),
    times: fc.integer({ min: 1, max: 200_000 }),
  })
  .map(({ unit, times }) => ({ before: '', schema: `[${repeated(unit, times)}]` }))
const shape = fc.oneof(bomb, longScalars, merges, cycles, plain)

/** Where what a schema holds is taken over as it is, and where it is read. */
const PLACES = [
  'enum',
  'const',
  'required',
  'type',
  'default',
  'examples',
  'properties',
  'allOf',
  'items',
  'pattern',
]

/** Schemas that refer to each other, so that width and depth multiply. */
const references = fc
  .record({
    width: fc.integer({ min: 1, max: 12 }),
    depth: fc.integer({ min: 1, max: 60 }),
    key: fc.constantFrom('allOf', 'anyOf', 'properties', 'prefixItems'),
    isRound: fc.boolean(),
  })
  .map(({ width, depth, key, isRound }) => {
    const next = (n: number) => `{ $ref: '#/s/n${isRound ? (n + 1) % depth : n + 1}' }`
    const inner = (n: number) =>
      key === 'properties'
        ? `{ ${listed(width, (m) => `p${m}: ${next(n)}`)} }`
        : `[${listed(width, () => next(n))}]`
    return specOf(
      `{ $ref: '#/s/n0' }`,
      `s: { ${listed(depth, (n) => `n${n}: { ${key}: ${inner(n)} }`)}, n${depth}: {} }`,
    )
  })

const specOf = (schema: string, before = '', url = 'http://127.0.0.1:1') => `openapi: 3.1.0
servers: [{ url: '${url}', variables: { a: { default: '${'x'.repeat(1_000)}' } } }]
${before}
paths:
  /x:
    get: { operationId: x, parameters: [{ name: q, in: query, schema: ${schema} }] }
`
const specs = fc.oneof(
  {
    arbitrary: fc
      .tuple(shape, fc.constantFrom(...PLACES))
      .map(([{ before, schema }, place]) => specOf(`{ ${place}: ${schema} }`, before)),
    weight: 5,
  },
  { arbitrary: references, weight: 3 },
  {
    arbitrary: fc.integer({ min: 1, max: 50_000 }).map((times) => specOf('{}', '', repeated('{a}', times))),
    weight: 1,
  },
  {
    arbitrary: fc
      .tuple(fc.constantFrom('---\n', '[', '? ', '- ', '&a ', '{a: '), fc.integer({ min: 1, max: 131_071 }))
      .map(([unit, times]) => repeated(unit, times)),
    weight: 1,
  },
  {
    arbitrary: fc
      .integer({ min: 1, max: 15_000 })
      .map((times) => specOf('{}', `y: { ${listed(times, (n) => `k${n}: &a${n} {}`)} }`)),
    weight: 1,
  },
)

const CHANNEL = {
  ...{ ...named, extId: 'specs', hook: 'whatsapp', callback: 'rpc', handlerUrl: 'native:agents/echo' },
  config: { assistantId: 77, callbackUrl: 'http://127.0.0.1:1' },
}
const MESSAGE = {
  ...{ extId: 'specs', user: { name: 'Ana', phone: '1' }, thread: {} },
  answer: { functions: [{ name: 'x', args: { q: 'y' } }] },
}

/** Documents that cost more than they look: stored, checked, and read because of messages. */
export const specCases: fc.Arbitrary<FuzzCase> = fc.oneof(
  {
    arbitrary: specs.map((spec) =>
      request('PUT', ACTION, { ...named, specType: 'openapi3-yaml', moduleUrl: 'native:request', spec }),
    ),
    weight: 4,
  },
  { arbitrary: fc.constant(request('GET', '/rest/check')), weight: 2 },
  { arbitrary: fc.constant(request('POST', '/api/hooks/whatsapp', MESSAGE)), weight: 4 },
  {
    arbitrary: fc.constantFrom(
      request('PUT', '/rest/assistant/77', { ...named, backstory: '', actions: [77] }),
      request('PUT', '/rest/channels/77', CHANNEL),
    ),
    weight: 2,
  },
)
