import { expect, test } from '@jest/globals'
import { LATE_MS, untilWhole } from './whole.ts'

const STRUCK_AT = 100_000
const message = (sequence: number, postedAt: number, tookMs: number) => ({
  posted: { thread: 1, sequence, postedAt, acceptedAt: postedAt, repeats: 0 },
  arrival: { thread: 1, sequence, at: postedAt + tookMs },
})
const whole = (...messages: ReturnType<typeof message>[]) =>
  untilWhole({
    posted: messages.map(({ posted }) => posted),
    received: messages.map(({ arrival }) => arrival),
    struckAt: STRUCK_AT,
  })

test('delivery is whole again once the last late message arrived, whenever that was posted', () => {
  const before = message(0, STRUCK_AT - 1_000, 9_000)
  const after = message(1, STRUCK_AT + 1_000, LATE_MS + 1)
  expect(whole(before, after)).toBe(8_000)
})

test('delivery was whole all along when no message was late, or only before the fault', () => {
  const inTime = message(0, STRUCK_AT + 50_000, LATE_MS)
  const earlier = message(1, STRUCK_AT - 50_000, LATE_MS + 1)
  expect(whole(inTime, earlier)).toBe(0)
})

test('a repeat counts by its first arrival', () => {
  const { posted, arrival } = message(0, STRUCK_AT, 10)
  const received = [arrival, { ...arrival, at: arrival.at + 20_000 }]
  expect(untilWhole({ posted: [posted], received, struckAt: STRUCK_AT })).toBe(0)
})
