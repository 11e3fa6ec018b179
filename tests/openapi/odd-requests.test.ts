import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { services } from '../../docs/permission-operations.ts'

const bodies = Object.values(services)
  .flat()
  .flatMap(({ method, path, body }) => (body === undefined ? [] : [[`${method} ${path}`, body] as const]))
const queries = Object.values(services)
  .flat()
  .flatMap(({ method, path, query }) => (query === undefined ? [] : [[`${method} ${path}`, query] as const]))
const odd = fc.oneof(
  fc.constantFrom('', 'https://', 'http://[', '2026-02-30', '%', null, -1, 1e308, [], {}),
  fc.jsonValue({ maxDepth: 2 }),
)
const RUNS = { numRuns: 200 }

test.each(bodies)('whatever the body of %s is, its schema says whether it is right', (_name, body) => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { maxLength: 12 }), odd, (choices, value) => {
      const broken = replaceOne(structuredClone(body.example), choices.values(), value)
      expect(typeof body.schema.safeParse(broken).success).toBe('boolean')
    }),
    RUNS,
  )
})

test.each(queries)('whatever the query of %s is, its schema says whether it is right', (_name, query) => {
  const texts = fc.oneof(
    odd.filter((value) => typeof value === 'string'),
    fc.string(),
  )
  const any = fc.dictionary(fc.constantFrom('limit', ...Object.keys(query.shape)), texts)
  fc.assert(
    fc.property(any, (given) => {
      expect(typeof query.safeParse(given).success).toBe('boolean')
    }),
    RUNS,
  )
})

/** Walks down by the choices, ends where one is 0 or nothing is below, and puts the value there. */
function replaceOne(from: unknown, choices: Iterator<number>, value: unknown): unknown {
  if (typeof from !== 'object' || from === null) return value
  const keys = Object.keys(from)
  const choice = choices.next().value
  if (!choice || keys.length === 0) return value
  const key = keys[choice % keys.length] as string
  return Object.assign(from, { [key]: replaceOne(from[key as keyof typeof from], choices, value) })
}
