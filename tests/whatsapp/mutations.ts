import fc from 'fast-check'
import { corpus } from './corpus.ts'

/** Values that a mutation puts in the place of others. */
const VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 1e21, '', 'x', ' ', '\ud800', 'x'.repeat(2_000), [], [null], [[]], {}],
  ...[{ id: 5 }, { id: 'wamid.other', from: '1' }, [{ from: '4917012345', id: 'wamid.more', type: 'text' }]],
  ...['messages', 'standby', 'constructor', '__proto__', { statuses: [{}] }, '903'],
]

/** Payloads of the corpus with one to three mutations: something is replaced, left out, or there twice. */
export const mutatedPayloads: fc.Arbitrary<unknown> = fc
  .tuple(
    fc.constantFrom(...corpus),
    fc.array(
      fc.record({
        at: fc.nat(10_000),
        what: fc.constantFrom('replace', 'leave out', 'repeat'),
        value: fc.constantFrom(...VALUES),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([{ payload }, mutations]) => mutations.reduce(mutated, structuredClone(payload) as unknown))

interface Mutation {
  at: number
  what: string
  value: unknown
}

function mutated(payload: unknown, { at, what, value }: Mutation): unknown {
  const places = placesIn(payload)
  const place = places[at % places.length]
  if (place === undefined) return payload
  const { parent, key } = place
  if (what === 'replace') parent[key] = structuredClone(value)
  else if (Array.isArray(parent)) {
    if (what === 'repeat') parent.push(structuredClone(parent[key as never]))
    else parent.splice(Number(key), 1)
  } else if (what === 'leave out') Reflect.deleteProperty(parent, key)
  else parent[`${key}_too`] = structuredClone(parent[key])
  return payload
}

interface Place {
  parent: Record<string, unknown>
  key: string
}

/** Every member of an object and item of an array. */
function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return []
  const parent = value as Record<string, unknown>
  return Object.keys(parent).flatMap((key) => [{ parent, key }, ...placesIn(parent[key])])
}
