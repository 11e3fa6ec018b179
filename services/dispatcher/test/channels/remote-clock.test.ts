import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createRemoteClock } from '../../src/channels/send-rate-limit/send-rate-limit.ts'

test('a reading that took long does not shift the time', () => {
  const clock = createRemoteClock()
  clock.observe({ sentAt: 1_000, receivedAt: 1_002, theirs: 6_001 })
  clock.observe({ sentAt: 2_000, receivedAt: 2_400, theirs: 7_390 })
  expect(clock.toOurs(10_000)).toBe(5_000)
})

test('an old reading gives way to a new one, since clocks drift', () => {
  const clock = createRemoteClock()
  clock.observe({ sentAt: 1_000, receivedAt: 1_002, theirs: 6_001 })
  clock.observe({ sentAt: 40_000, receivedAt: 40_010, theirs: 45_025 })
  expect(clock.toOurs(45_025)).toBe(40_005)
})

test.each([
  ['back by an hour', -3_600_000],
  ['back by 10 s', -10_000],
  ['on by 10 s', 10_000],
])('when our clock is set %s, the readings before count no more', (_name, set) => {
  const clock = createRemoteClock()
  clock.observe({ sentAt: 5_000_000, receivedAt: 5_000_002, theirs: 9_000_001 })
  clock.observe({ sentAt: 5_001_000 + set, receivedAt: 5_001_040 + set, theirs: 9_001_020 })
  expect(clock.toOurs(9_001_020)).toBe(5_001_020 + set)
})

test('another machine’s clock is never off by more than half of the shortest round trip', () => {
  const delays = fc.array(fc.record({ there: fc.nat(500), back: fc.nat(500) }), {
    minLength: 1,
    maxLength: 20,
  })
  fc.assert(
    fc.property(fc.integer({ min: -1_000_000, max: 1_000_000 }), delays, (ahead, trips) => {
      const clock = createRemoteClock()
      trips.forEach(({ there, back }, at) => {
        const sentAt = 1_000_000 + at * 1_000
        clock.observe({ sentAt, receivedAt: sentAt + there + back, theirs: sentAt + there + ahead })
      })
      const shortest = Math.min(...trips.map(({ there, back }) => there + back))
      expect(Math.abs(clock.toOurs(5_000_000 + ahead) - 5_000_000)).toBeLessThanOrEqual(shortest / 2)
    }),
  )
})
