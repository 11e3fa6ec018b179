import { expect, test } from '@jest/globals'
import { budgetOf, faultSequence } from './every-fault.ts'
import type { InjectedFault } from './faults.ts'

const all: InjectedFault[] = ['kill a', 'kill b', 'cut a', 'cut b', 'slow a'].map((name) => ({
  name,
  strike: async () => 0,
}))
const names = (options: { seed: number; budget: object; names?: string[] }) =>
  [...faultSequence({ all, names: [], ...options })].map(({ name }) => name)

test.each([
  ['6', { count: 6 }],
  ['90s', { ms: 90_000 }],
  ['30m', { ms: 1_800_000 }],
  ['2h', { ms: 7_200_000 }],
])('%s is a budget', (text, budget) => {
  expect(budgetOf(text)).toEqual(budget)
})

test('every fault comes once, then as many at random, the same for the same seed', () => {
  const chosen = names({ seed: 3, budget: { count: 20 } })
  expect(chosen.slice(0, 5)).toEqual(all.map(({ name }) => name))
  expect(chosen).toHaveLength(25)
  expect(new Set(chosen.slice(5)).size).toBeGreaterThan(2)
  expect(names({ seed: 3, budget: { count: 20 } })).toEqual(chosen)
  expect(names({ seed: 4, budget: { count: 20 } })).not.toEqual(chosen)
})

test('no random ones come when the time is over', () => {
  expect(names({ seed: 3, budget: { ms: 0 } })).toHaveLength(5)
})

test('with names only those come that have one of them', () => {
  expect(names({ seed: 3, budget: { count: 9 }, names: ['kill', 'slow'] })).toEqual([
    'kill a',
    'kill b',
    'slow a',
  ])
})
