import { expect, test } from '@jest/globals'
import { busiestSecond, pairsTooFast } from './send-rate.ts'

const at = (...times: number[]) => times.map((time) => ({ at: time }))
const to = (person: string, ...times: number[]) =>
  times.map((time) => ({ at: time, to: person, phoneNumberId: '1' }))
const burst = (person: string, count: number) => to(person, ...Array.from({ length: count }, () => 0))

test.each([
  [[], 0],
  [at(0), 1],
  [at(0, 999), 2],
  [at(0, 1_000), 1],
  [at(5, 400, 1_004, 1_005, 1_399, 1_400), 4],
])('the busiest second of %j has %d', (received, expected) => {
  expect(busiestSecond(received)).toBe(expected)
})

test.each([
  ['a burst', burst('a', 45), 0],
  ['one more than a burst', burst('a', 46), 1],
  ['a burst to each of two', [...burst('a', 45), ...burst('b', 45)], 0],
  ['one more, 6 s later', [...burst('a', 45), ...to('a', 6_000)], 0],
  ['one more, a moment too soon', [...burst('a', 45), ...to('a', 5_999)], 1],
])('%s: too soon %#', (_name, received, expected) => {
  expect(pairsTooFast(received)).toBe(expected)
})
