import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type { Callback } from '../../src/channels/callback.ts'
import type { SendSlot } from '../../src/channels/send-rate-limit/send-rate-limit.ts'
import type { FoundSlot } from '../../src/channels/send-rate-limit/waiting-sends.ts'
import { createDeliverMessage } from '../../src/deliver/deliver-message.ts'
import type { RunResult } from '../../src/deliver/thread-run.ts'
import type { LeasedMessages } from '../../src/deliver/written-message.ts'
import { advanced, type MessageRecord } from '../../src/message/message-record.ts'
import { deliveryOptions } from '../delivery-options.ts'
import { newRecord } from '../new-record.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

beforeEach(() => {
  jest.useFakeTimers({ now: START })
})
afterEach(() => {
  jest.useRealTimers()
})

/** A runner whose database takes its time and whose number's slots are given; times count from the start. */
function limitedRunner(options: { commitMs: number; slots: FoundSlot[]; queued?: Promise<FoundSlot> }) {
  const sent: number[] = []
  const released: number[] = []
  const slots = options.slots.map((slot) => ({ ...slot, at: START + slot.at }))
  const asked: string[] = []
  const sends: Callback = {
    reports: true,
    rateKeys: () => ({ number: 'n', person: 'p', perSecond: 80 }),
    deliver: async () => {
      sent.push(Date.now() - START)
      return { kind: 'accepted', providerId: 'x', delivered: false }
    },
  }
  const run = createDeliverMessage(
    deliveryOptions(sends, {
      read: async () => null,
      sendRateLimit: {
        slot: async (): Promise<SendSlot> => {
          asked.push('first')
          if (options.queued !== undefined) return { kind: 'queued', found: options.queued }
          return slots.shift() ?? { kind: 'later', at: Date.now() + 60_000 }
        },
        anotherSlot: async () => {
          asked.push('another')
          return { kind: 'reserved', at: slots.shift()?.at ?? Date.now() }
        },
        count: async () => {},
        slowDown: async () => {},
      },
      statuses: { clearSince: () => START, consumedUntil: Date.now },
      uncertainWindow: 10_000,
      retentionMs: 1,
    }),
  )
  const leased: LeasedMessages = {
    isLeased: () => true,
    ended: new AbortController().signal,
    handedOver: new AbortController().signal,
    commit: async (record, progress) => {
      await pause(options.commitMs)
      return advanced(record, progress)
    },
    ensureStored: async () => true,
    release: async (_record, indexes) => void released.push(...indexes),
  }
  /** Runs the message as its thread does: again at the time that it asks for. */
  const runThrough = async (record: MessageRecord): Promise<RunResult> => {
    const runOnce = (record: MessageRecord) => run(record, leased, (call) => call())
    for (let result = await runOnce(record); ; result = await runOnce(result.record)) {
      if (result.kind === 'wait') await pause(result.until - Date.now())
      else if (result.kind === 'pending') await result.settled
      else return result
    }
  }
  const message = newRecord({
    receivedAt: new Date(START),
    body: JSON.stringify({ extId: 'c', user: { phone: '1' }, thread: {}, answer: { message: 'hi' } }),
  })
  return { sent, released, asked, slotsLeft: () => slots.length, through: () => runThrough(message) }
}

test('a database that takes 120 ms neither makes a send miss its slot nor lets it leave before', async () => {
  const reserved = [400, 700].map((at): FoundSlot => ({ kind: 'reserved', at }))
  const runner = limitedRunner({ commitMs: 120, slots: reserved })
  const done = runner.through()
  await jest.advanceTimersByTimeAsync(5_000)
  expect(await done).toEqual({ kind: 'closed' })
  expect([runner.sent, runner.slotsLeft()]).toEqual([[400], 1])
})

test('a slot that has gone by while the database stood still is left, and another one waited for', async () => {
  const reserved = [400, 2_000, 3_000].map((at): FoundSlot => ({ kind: 'reserved', at }))
  const runner = limitedRunner({ commitMs: 600, slots: reserved })
  const done = runner.through()
  await jest.advanceTimersByTimeAsync(10_000)
  expect(await done).toEqual({ kind: 'closed' })
  // The person's rate is charged once for it, not for each slot that went by.
  expect([runner.sent, runner.asked]).toEqual([[3_000], ['first', 'another', 'another']])
})

test('a send whose slots have gone by for too long does not leave under its old claim, which is taken back', async () => {
  const reserved = [400, 2_000, 9_000].map((at): FoundSlot => ({ kind: 'reserved', at }))
  const runner = limitedRunner({ commitMs: 600, slots: reserved })
  const done = runner.through()
  await jest.advanceTimersByTimeAsync(10_000)
  expect((await done).kind).toBe('reload')
  expect([runner.sent, runner.released]).toEqual([[], [0]])
})

test('a slot of now is used at once', async () => {
  const runner = limitedRunner({ commitMs: 0, slots: [{ kind: 'reserved', at: 0 }] })
  const done = runner.through()
  await jest.advanceTimersByTimeAsync(100)
  expect(await done).toEqual({ kind: 'closed' })
  expect(runner.sent).toEqual([0])
})

test('a send that waits behind others for its number leaves at the slot that is found, asked for once', async () => {
  const { promise: queued, resolve } = Promise.withResolvers<FoundSlot>()
  const runner = limitedRunner({ commitMs: 120, slots: [], queued })
  const done = runner.through()
  await jest.advanceTimersByTimeAsync(3_000)
  resolve({ kind: 'reserved', at: START + 4_000 })
  await jest.advanceTimersByTimeAsync(3_000)
  expect(await done).toEqual({ kind: 'closed' })
  expect([runner.sent, runner.asked]).toEqual([[4_000], ['first']])
})
