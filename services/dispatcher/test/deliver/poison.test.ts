import { describe, expect, test } from '@jest/globals'
import { createEndpoints } from '../../src/channels/endpoints/endpoints.ts'
import { createDeliverMessage } from '../../src/deliver/deliver-message.ts'
import { RETRY_DELAYS } from '../../src/message/settle.ts'
import { deliveryOptions } from '../delivery-options.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const database = dispatcherDatabase({ partitions: 8 })
let now = Date.now()

const delivered = async () => ({ kind: 'accepted', delivered: true }) as const
const callback = { reports: false, deliver: delivered }
const slot = async () => ({ kind: 'reserved', at: now }) as const
const runWith = (trouble: { handle?: () => never; find?: () => never }) => {
  const options = deliveryOptions(callback, {
    read: (_id) => database.collections.messages.findOne({ _id }),
    handle: async () => trouble.handle?.() ?? { kind: 'answer', answer: { message: 'x' } },
    sendRateLimit: { slot, anotherSlot: slot, count: async () => {}, slowDown: async () => {} },
    endpoints: createEndpoints({ now: () => now, opened: () => {} }),
    now: () => now,
  })
  const { find } = options.channels
  const channels = {
    ...options.channels,
    find: async (...of: Parameters<typeof find>) => trouble.find?.() ?? find(...of),
  }
  return createDeliverMessage({ ...options, channels })
}

describe('a message that something unforeseen goes wrong with', () => {
  test.each([
    ['in its handler', 'handle'],
    ['when its channel is looked up', 'find'],
  ] as const)('%s is tried again like any other, and then dead by our fault', async (_name, where) => {
    const body = JSON.stringify({ extId: 'c', user: {}, thread: {}, answer: {} })
    const at = new Date(now)
    await database.collections.messages.insertOne(
      newRecord({ _id: where, body, receivedAt: at, updatedAt: at }),
    )
    const run = runWith({
      [where]: () => {
        throw new RangeError('Maximum call stack size exceeded')
      },
    })
    const waits: number[] = []
    for (;;) {
      const record = await database.collections.messages.findOne({ _id: where })
      if (record === null) throw new Error('the message is gone')
      const began = now
      const result = await run(record, database.leased, (call) => call())
      if (result.kind === 'closed' || result.kind === 'pending') break
      now = result.kind === 'wait' ? result.until : result.at
      waits.push(now - began)
      expect(waits.length).toBeLessThan(20)
    }
    expect(waits).toEqual([...RETRY_DELAYS])
    expect(await database.collections.messages.findOne({ _id: where })).toMatchObject({
      state: 'dead',
      fault: 'us',
      reason: 'Something went wrong on our side. Given up after 8 tries.',
    })
  })

  test('is over with, and the next one runs', async () => {
    const answer = JSON.stringify({ extId: 'c', user: {}, thread: {}, answer: { message: 'x' } })
    const next = newRecord({ _id: 'next', body: answer, receivedAt: new Date(now) })
    await database.collections.messages.insertOne(next)
    expect(await runWith({})(next, database.leased, (call) => call())).toEqual({ kind: 'closed' })
    expect((await database.collections.messages.findOne({ _id: 'next' }))?.state).toBe('delivered')
  })
})
