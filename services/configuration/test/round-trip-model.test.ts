import { expect, test } from '@jest/globals'
import { CONFIGURATION_RESOURCES, type ResourceName } from '@parley/shared/configuration-resources'
import fc from 'fast-check'
import type { z } from 'zod'
import { MODEL_RUNS } from '../../../tests/sizes.ts'
import { definitions } from '../src/resources/all-resources.ts'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests()

const text = fc.string({ unit: 'grapheme', maxLength: 200 })
const integer = fc.maxSafeInteger()
const secret = fc.record({ accessToken: text, credentials: fc.array(fc.oneof(text, fc.boolean(), integer)) })
const freeForm = fc
  .tuple(fc.dictionary(fc.string({ unit: 'grapheme-ascii' }), fc.jsonValue({ maxDepth: 4 })), secret)
  .map(([settings, secrets]) => ({ ...settings, ...secrets }))

/** Values for text fields that accept no free text: one of these, as far as the schema accepts it. */
const CHOICES = [
  'rpc',
  'whatsapp',
  'active',
  'pending',
  'failed',
  'native:agents/echo',
  'https://a.b/c?d=e#f',
  'urn:x',
]

/** Anything that the field takes, told from what stands there in a valid body. */
function fieldLike(schema: z.ZodType, example: unknown): fc.Arbitrary<unknown> {
  if (typeof example === 'string' && schema.safeParse('no choice').success) return text
  if (typeof example === 'string')
    return fc.constantFrom(...CHOICES.filter((each) => schema.safeParse(each).success))
  if (typeof example === 'number') return integer
  if (typeof example === 'boolean') return fc.boolean()
  if (!Array.isArray(example)) return freeForm
  return typeof example[0] === 'string'
    ? fc.subarray(example, { minLength: 1 })
    : fc.option(fc.array(integer))
}

function bodyOf(resource: ResourceName) {
  const fields = Object.entries(bodies[resource]).map(([field, example]) => [
    field,
    fieldLike(definitions[resource].schema.shape[field] as z.ZodType, example),
  ])
  return fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>)
}

test.each(CONFIGURATION_RESOURCES)(
  '%s: what PUT accepts, GET returns equal, and it can be sent back',
  async (resource) => {
    const path = `/rest/${resource}/1`
    await fc.assert(
      fc.asyncProperty(bodyOf(resource), async (body) => {
        const raw = JSON.stringify(body)
        const put = await server.call('PUT', path, { raw })
        expect([put.status, raw]).toEqual([200, raw])
        const got = await server.call('GET', path)
        expect(got.text).toBe(put.text)
        const { updatedAt } = got.json
        // A resource may have fields of its own beside them.
        const fields = Object.entries(got.json).filter(([field]) => field in body)
        expect(JSON.stringify(Object.fromEntries(fields))).toBe(raw)
        const again = await server.call('PUT', path, { raw: got.text })
        expect(JSON.stringify({ ...again.json, updatedAt })).toBe(got.text)
      }),
      { numRuns: 6 * MODEL_RUNS },
    )
  },
  120_000,
)

test('any configuration goes out, into an empty workspace and out again, byte for byte', async () => {
  const transferred = CONFIGURATION_RESOURCES.filter((name) => name !== 'tasks')
  const some = fc.record(
    Object.fromEntries(transferred.map((name) => [name, fc.array(bodyOf(name), { maxLength: 3 })])),
  )
  const exported = (workspace: number) =>
    server.call('GET', '/rest/export?secrets=true', { workspace }).then((response) => response.text)
  let workspace = 100
  await fc.assert(
    fc.asyncProperty(some, async (resources) => {
      const [from, to] = [workspace++, workspace++]
      for (const [name, all] of Object.entries(resources)) {
        for (const body of all as object[]) {
          const raw = JSON.stringify(body)
          expect((await server.call('POST', `/rest/${name}`, { raw, workspace: from })).status).toBe(200)
        }
      }
      const raw = await exported(from)
      expect((await server.call('POST', '/rest/import', { raw, workspace: to })).status).toBe(200)
      expect(await exported(to)).toBe(raw)
    }),
    { numRuns: 4 * MODEL_RUNS },
  )
})
