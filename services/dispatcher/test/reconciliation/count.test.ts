import { expect, test } from '@jest/globals'
import { balances, wholeKeys } from '../../src/reconciliation/count.ts'

test('a key of which a list has no more room for all is left out of every list', () => {
  const counted = (what: 'stored' | 'sent', ...keys: string[]) =>
    keys.map((_id) => ({ _id, counts: [{ what, count: 1 }] }))
  const places = counted('stored', 'e', 'd', 'c')
  const states = counted('sent', 'e', 'd', 'c', 'b')
  const found = balances(wholeKeys([places, states], 4))
  expect(found.map(({ key, difference, unaudited }) => [key, difference, unaudited])).toEqual([
    ['b', 0, 1],
    ['c', 0, 0],
    ['d', 0, 0],
    ['e', 0, 0],
  ])
  const cut = balances(wholeKeys([counted('stored', 'e', 'd', 'c'), counted('sent', 'e', 'd')], 2))
  expect(cut.map(({ key, difference }) => [key, difference])).toEqual([
    ['d', 0],
    ['e', 0],
  ])
})
