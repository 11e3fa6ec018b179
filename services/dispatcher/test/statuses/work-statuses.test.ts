import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { type MessageStatus, STATUS_TYPE } from '@parley/shared/message-status'
import type { ConsumeMessage } from 'amqplib'
import { Registry } from 'prom-client'
import type { Send } from '../../src/message/message-record.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { workStatuses } from '../../src/statuses/work-statuses.ts'
import { createCommitter } from '../../src/store/commit.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'
import { noConsent } from '../no-consent.ts'
import { noTraffic } from '../no-traffic.ts'

const database = dispatcherDatabase({ partitions: 1 })
const idOf = (n: number) => `m${n}`

beforeEach(async () => {
  await database.collections.messages.deleteMany({})
})

afterEach(() => {
  jest.useRealTimers()
})

/** So many messages whose sends the provider took. */
async function storeSent(count: number): Promise<void> {
  const sendOf = (n: number): Send => ({
    id: `${idOf(n)}:0`,
    content: { kind: 'text', text: 'hi' },
    state: 'sent',
    providerId: `p${n}`,
  })
  const { open: _open, ...sent } = newRecord({ state: 'sent' })
  const records = Array.from({ length: count }, (_, n) => ({ ...sent, _id: idOf(n), sends: [sendOf(n)] }))
  await database.collections.messages.insertMany(records)
}

function statusOf(n: number, status: string): ConsumeMessage {
  const body: MessageStatus = {
    workspace: 1,
    channel: 'c',
    providerId: `p${n}`,
    opaque: `${idOf(n)}:0`,
    status,
    at: new Date().toISOString(),
    recipient: null,
  }
  const content = Buffer.from(JSON.stringify(body))
  return { content, properties: { type: STATUS_TYPE } } as unknown as ConsumeMessage
}

/** Starts applying statuses, and records how many messages each of its reads asks for. */
function startWork() {
  const { collections } = database
  const find = jest.spyOn(collections.messages, 'find').mockClear()
  const work = workStatuses({
    collections,
    metrics: createMetrics(new Registry()),
    traffic: noTraffic,
    replica: { find: async () => [] },
    recordConsent: noConsent.recordConsent,
    publisher: { publish: async () => {} },
    committer: createCommitter(collections.messages, 'statuses:us'),
  })
  const reads = () =>
    find.mock.calls.map(([filter]) => (filter as unknown as { _id: { $in: string[] } })._id.$in.length)
  return { work, reads }
}

const delivered = () => database.collections.messages.countDocuments({ state: 'delivered' })

test('the statuses of all queues that come within 100 ms are read and applied together', async () => {
  await storeSent(2)
  const { work, reads } = startWork()
  jest.useFakeTimers({
    doNotFake: ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'setInterval'],
  })
  const first = work([statusOf(0, 'sent'), statusOf(0, 'delivered')])
  await jest.advanceTimersByTimeAsync(99)
  const second = work([statusOf(1, 'sent'), statusOf(1, 'delivered')])
  expect(reads()).toEqual([])
  let applied = false
  void Promise.all([first, second]).finally(() => {
    applied = true
  })
  while (!applied) await jest.advanceTimersByTimeAsync(1)
  jest.useRealTimers()
  expect([await delivered(), reads()]).toEqual([2, [2]])
})

test('however many statuses come at once, no more than 100 messages are in memory for them', async () => {
  await storeSent(250)
  const { work, reads } = startWork()
  await work(Array.from({ length: 250 }, (_, n) => statusOf(n, 'delivered')))
  expect([await delivered(), reads()]).toEqual([250, [100, 100, 50]])
})

test('a batch that can not be applied is rejected whole, and applied when it comes again', async () => {
  await storeSent(2)
  const { work } = startWork()
  const batch = [0, 1].map((n) => statusOf(n, 'delivered'))
  jest.spyOn(database.collections.messages, 'find').mockImplementationOnce(() => {
    throw new Error('the database is unavailable')
  })
  await expect(work(batch)).rejects.toThrow('unavailable')
  await work(batch)
  expect(await delivered()).toBe(2)
})
