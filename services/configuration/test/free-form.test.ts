import { expect, test } from '@jest/globals'
import { escapeKeys, unescapeKeys } from '@parley/shared/safe-keys'
import fc from 'fast-check'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests()

const ODD_KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'toJSON',
  'toBSON',
  '$where',
  '$ref',
  '$id',
  '$db',
  '~$ref',
  '~~$ref',
  '_bsontype',
  '~_bsontype',
  '_id',
  'apiKey',
  'credentials',
  'a.b',
  '.',
  '$',
  '',
  '10',
  '2',
  'é',
  '💬',
]
const key = fc.oneof(
  fc.constantFrom(...ODD_KEYS),
  fc.string({ unit: 'grapheme' }).filter((k) => !k.includes('\0')),
)
const scalar = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', 'a\0b', 'ObjectId'),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, 1e21, 5e-324, 2 ** 53, 2 ** 64, 2147483648, -2147483649),
  fc.boolean(),
  fc.constant(null),
)

/** The text of a JSON object, so that nothing on the way to the wire can reorder or lose a key. */
const { object } = fc.letrec<{ object: string; value: string }>((tie) => ({
  object: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 5 })
    .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    scalar.map((value) => JSON.stringify(value)),
    tie('object'),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
  ),
}))

test('a free-form object comes back byte for byte, as JSON.parse has it', async () => {
  await fc.assert(
    fc.asyncProperty(object, async (text) => {
      const stored = JSON.stringify(JSON.parse(text))
      const raw = `{"name":"n","value":${text},"owner":1,"ownerType":"assistant"}`
      const put = await server.call('PUT', '/rest/configs/1', { raw })
      expect([put.status, put.text]).toEqual([200, expect.stringContaining(`"value":${stored},"owner"`)])
      expect((await server.call('GET', '/rest/configs/1')).text).toBe(put.text)
      const list = await server.call('GET', '/rest/configs?_id=1')
      expect(list.text).toBe(`{"data":[${put.text}],"next":null}`)
    }),
    { numRuns: 150 },
  )
})

test('escaping keys is undone exactly', () => {
  fc.assert(
    fc.property(object, (text) => {
      const value: unknown = JSON.parse(text)
      expect(JSON.stringify(unescapeKeys(escapeKeys(value)))).toBe(JSON.stringify(value))
    }),
  )
})

test.each(['channels', 'tasks'] as const)('%s keep odd keys in their free-form field', async (resource) => {
  const field = resource === 'channels' ? 'config' : 'context'
  const odd =
    '{"z":1,"a":{"$where":1,"b.c":[],"__proto__":{"x":1},"":{}},"$ref":"x","$id":1,"_bsontype":"ObjectId"}'
  const raw = JSON.stringify({ ...bodies[resource], [field]: 0 }).replace(`"${field}":0`, `"${field}":${odd}`)
  const put = await server.call('PUT', `/rest/${resource}/1`, { raw })
  expect([put.status, put.text]).toEqual([200, expect.stringContaining(`"${field}":${odd}`)])
  expect((await server.call('GET', `/rest/${resource}/1`)).text).toBe(put.text)
})
