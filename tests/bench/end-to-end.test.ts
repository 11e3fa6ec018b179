import { describe, expect, test } from '@jest/globals'
import { fitLine } from './end-to-end-tables.ts'
import { growthOf } from './memory-growth.ts'

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
