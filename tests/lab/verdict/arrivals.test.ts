import { describe, expect, test } from '@jest/globals'
import { busiestSecond } from '@parley/local/demo/campaign/account'
import { countDeliveries, exactlyOnce, missing, outOfSequence, pairsTooFast, repeats } from './arrivals.ts'

const posted = [0, 1, 2].map((sequence) => ({ thread: 'a', sequence }))

test.each([
  ['all there in order', ['a/0', 'b/0', 'a/1', 'a/2'], { missing: 0, repeats: 0, outOfSequence: 0 }],
  ['one missing', ['a/0', 'a/2'], { missing: 1, repeats: 0, outOfSequence: 0 }],
  ['one again, later', ['a/0', 'a/1', 'a/2', 'a/0'], { missing: 0, repeats: 1, outOfSequence: 0 }],
  ['two swapped', ['a/1', 'a/0', 'a/2'], { missing: 0, repeats: 0, outOfSequence: 1 }],
])('inputs with %s are counted as that', (_what, inputs, expected) => {
  const found = { missing: missing(inputs, posted), repeats: repeats(inputs) }
  expect({ ...found, outOfSequence: outOfSequence(inputs, posted) }).toEqual(expected)
})

const to = (person: string, ...times: number[]) =>
  times.map((time) => ({ at: time, to: person, phoneNumberId: '1' }))
const burst = (person: string, count: number) => to(person, ...Array.from({ length: count }, () => 0))

test.each([
  [[], 0],
  [[0], 1],
  [[0, 999], 2],
  [[0, 1_000], 1],
  [[5, 400, 1_004, 1_005, 1_399, 1_400], 4],
])('the busiest second of %j has %d', (times, expected) => {
  expect(busiestSecond(times)).toBe(expected)
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

describe('exactly once', () => {
  const whole = { posted: 3, refused: 0 }
  const verdict = (arrived: number[], strange = 0) =>
    exactlyOnce({ ...whole, ...countDeliveries({ posted: 3, arrived, strange }) })

  test('is what arrived once each, in any order', () => {
    expect(verdict([2, 0, 1])).toBe(true)
  })

  test.each([
    ['nothing arrived', [], 0],
    ['one is missing', [0, 2], 0],
    ['one is missing and another doubled', [0, 2, 2], 0],
    ['one is doubled', [0, 1, 2, 1], 0],
    ['what was not posted arrived', [0, 1, 2, 3], 0],
    ['a message of another load arrived', [0, 1, 2], 1],
  ])('is not when %s', (_what, arrived, strange) => {
    expect(verdict(arrived, strange)).toBe(false)
  })

  test('is not when a post was refused, or nothing was posted', () => {
    const arrived = countDeliveries({ posted: 3, arrived: [0, 1, 2], strange: 0 })
    expect(exactlyOnce({ ...whole, refused: 1, ...arrived })).toBe(false)
    expect(
      exactlyOnce({ posted: 0, refused: 0, ...countDeliveries({ posted: 0, arrived: [], strange: 0 }) }),
    ).toBe(false)
  })
})
