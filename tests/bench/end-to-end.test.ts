import { describe, expect, test } from '@jest/globals'
import { countDeliveries, exactlyOnce } from './delivery-counts.ts'
import { fitLine } from './fit-line.ts'
import { growthOf } from './memory-growth.ts'

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

test('memory has grown when the last fifth has a tenth more than the second, whatever the first had', () => {
  const steady = [10, 90, 100, 100, 100, 100, 100, 100, 104, 106]
  expect(growthOf(steady)).toEqual({ second: 100, last: 105, hasGrown: false })
  expect(growthOf([...steady.slice(0, 8), 115, 117])).toEqual({ second: 100, last: 116, hasGrown: true })
  expect(growthOf([]).hasGrown).toBe(true)
})

describe('a line by least squares', () => {
  test('goes through points on a line', () => {
    const { base, slope, residual } = fitLine([
      [1, 12],
      [2, 14],
      [4, 18],
    ])
    expect([base, slope, residual]).toEqual([
      expect.closeTo(10, 9),
      expect.closeTo(2, 9),
      expect.closeTo(0, 9),
    ])
  })

  test('says how far others are from it', () => {
    const { base, slope, residual } = fitLine([
      [0, 0],
      [1, 3],
      [2, 0],
    ])
    expect([base, slope, residual]).toEqual([1, 0, expect.closeTo(Math.SQRT2, 9)])
  })

  test('needs two different x', () => {
    expect(() => fitLine([[2, 1]])).toThrow('two different x')
  })
})
