import { expect, test } from '@jest/globals'
import { createSendSlots, SendRate } from '@parley/dispatcher/channels/send-rate-limit/send-rate'
import type { SendSlot } from '@parley/dispatcher/channels/send-rate-limit/send-rate-limit'
import type { FoundSlot } from '@parley/dispatcher/channels/send-rate-limit/waiting-sends'

const keys = { number: 'n', person: 'p', perSecond: 80 }
const asking = { keys, ended: new AbortController().signal }
const HOUR_MS = 3_600_000

function createSendRate(now: () => number, slot?: () => Promise<SendSlot>) {
  const asked: string[] = []
  const slotIn = (kind: string) => async () => {
    asked.push(kind)
    return { kind: 'reserved' as const, at: now() + 500 }
  }
  const sendRateLimit = {
    slot: slot ?? slotIn('first'),
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
  expect(await rate.nextWait('send', asking)).toEqual({ kind: 'until', at: HOUR_MS + 250, for: 'rate' })
  time += 250
  expect(await rate.nextWait('send', asking)).toBeUndefined()
  expect(asked).toEqual(['first'])
})

test.each([
  ['that has gone by', 1_000],
  ['on a clock that was set back since', -HOUR_MS / 2],
])('another slot takes the place of one %s, not charged to the person', async (_name, passed) => {
  let time = HOUR_MS
  const { rate, asked } = createSendRate(() => time)
  await rate.nextWait('send', asking)
  time += passed
  expect(await rate.nextWait('send', asking)).toEqual({ kind: 'until', at: time + 250, for: 'rate' })
  expect(asked).toEqual(['first', 'another'])
})

test('a send that is to wait for the slot of a clock that was set back gets another one', async () => {
  let time = 2 * HOUR_MS
  const { rate, asked } = createSendRate(() => time)
  await rate.nextWait('send', asking)
  time = HOUR_MS
  await rate.atSlot('send', { keys, mayLeave: () => true })
  expect(asked).toEqual(['first', 'another'])
})

test('a send that is queued behind others keeps its place when it is run again, and has the slot that is found', async () => {
  const found = Promise.withResolvers<FoundSlot>()
  let asked = 0
  const { rate } = createSendRate(
    () => HOUR_MS,
    async () => {
      asked++
      return { kind: 'queued', found: found.promise }
    },
  )
  const first = await rate.nextWait('send', asking)
  const again = await rate.nextWait('send', asking)
  expect([first?.kind, again, asked]).toEqual(['queued', first, 1])
  found.resolve({ kind: 'reserved', at: HOUR_MS + 260 })
  if (first?.kind === 'queued') await first.settled
  expect(await rate.nextWait('send', asking)).toEqual({ kind: 'until', at: HOUR_MS + 10, for: 'rate' })
  expect(asked).toBe(1)
})

test('a send that waits for the rate of its person alone says so', async () => {
  const at = HOUR_MS + 6_000
  const { rate } = createSendRate(
    () => HOUR_MS,
    async () => ({ kind: 'later', at }),
  )
  expect(await rate.nextWait('send', asking)).toEqual({ kind: 'until', at, for: 'person_rate' })
})
