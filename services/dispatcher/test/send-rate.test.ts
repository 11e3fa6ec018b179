import { expect, test } from '@jest/globals'
import { createSendSlots, SendRate } from '@parley/dispatcher/channels/send-rate-limit/send-rate'

const keys = { number: 'n', person: 'p' }
const HOUR_MS = 3_600_000

function createSendRate(now: () => number) {
  const asked: string[] = []
  const slotIn = (kind: string) => async () => {
    asked.push(kind)
    return { kind: 'reserved' as const, at: now() + 500 }
  }
  const sendRateLimit = {
    slot: slotIn('first'),
    anotherSlot: slotIn('another'),
    count: async () => undefined,
    slowDown: async () => undefined,
  }
  const rate = new SendRate({
    sendRateLimit,
    slots: createSendSlots(),
    metrics: { waited: () => undefined },
    now,
  })
  return { rate, asked }
}

test('the slot of a send stays reserved until its time comes', async () => {
  let time = HOUR_MS
  const { rate, asked } = createSendRate(() => time)
  expect(await rate.waitUntil('send', keys)).toBe(HOUR_MS + 250)
  time += 250
  expect(await rate.waitUntil('send', keys)).toBeUndefined()
  expect(asked).toEqual(['first'])
})

test.each([
  ['that has gone by', 1_000],
  ['on a clock that was set back since', -HOUR_MS / 2],
])('another slot takes the place of one %s, not charged to the person', async (_name, passed) => {
  let time = HOUR_MS
  const { rate, asked } = createSendRate(() => time)
  await rate.waitUntil('send', keys)
  time += passed
  expect(await rate.waitUntil('send', keys)).toBe(time + 250)
  expect(asked).toEqual(['first', 'another'])
})

test('a send that is to wait for the slot of a clock that was set back gets another one', async () => {
  let time = 2 * HOUR_MS
  const { rate, asked } = createSendRate(() => time)
  await rate.waitUntil('send', keys)
  time = HOUR_MS
  await rate.atSlot('send', { keys, mayLeave: () => true })
  expect(asked).toEqual(['first', 'another'])
})
