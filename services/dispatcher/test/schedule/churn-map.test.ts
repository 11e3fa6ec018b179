import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { ChurnMap } from '../../src/schedule/churn-map.ts'

test('a churn map has the entries that a Map would have, in the sequence in which they were set', () => {
  const key = fc.integer({ min: 0, max: 40 })
  const step = fc.oneof(
    fc.record({ kind: fc.constant('set' as const), key }),
    fc.record({ kind: fc.constant('delete' as const), key }),
    fc.record({ kind: fc.constant('passing' as const), key }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new ChurnMap<string, { value: number }>()
      const model = new Map<string, { value: number }>()
      for (const [at, { kind, key }] of steps.entries()) {
        const [name, value] = [String(key), { value: at }]
        if (kind === 'set' && !model.has(name)) for (const one of [map, model]) one.set(name, value)
        if (kind === 'delete') for (const one of [map, model]) one.delete(name)
        // So many come and go that it is built anew.
        for (let n = 0; kind === 'passing' && n < 1_500; n++) {
          map.set(`passing-${n}`, value)
          map.delete(`passing-${n}`)
        }
        expect([map.size, map.get(name)]).toEqual([model.size, model.get(name)])
      }
      expect(new Set(map.values())).toEqual(new Set(model.values()))
    }),
    { numRuns: 30 },
  )
})

test('what comes later comes later in it, also once it was built anew', () => {
  const map = new ChurnMap<number, { key: number }>()
  for (let key = 0; key < 5_000; key++) {
    map.set(key, { key })
    if (key % 100 !== 0) map.delete(key)
  }
  expect([...map.values()].map(({ key }) => key)).toEqual(Array.from({ length: 50 }, (_, n) => n * 100))
})
