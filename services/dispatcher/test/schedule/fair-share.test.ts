import { expect, test } from '@jest/globals'
import { fairShare } from '@parley/dispatcher/schedule/partitions'
import fc from 'fast-check'

test('the shares of all instances add up to all partitions and differ by one at most', () => {
  const instances = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(instances, fc.integer({ min: 0, max: 64 }), (names, partitions) => {
      const shares = names.map((instance) => fairShare({ partitions, instances: names, instance }))
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(partitions)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
    }),
  )
})

test('an instance that is not known to live has nothing', () => {
  expect(fairShare({ partitions: 8, instances: ['a', 'b'], instance: 'c' })).toBe(0)
})
