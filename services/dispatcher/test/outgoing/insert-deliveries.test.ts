import { afterEach, expect, jest, test } from '@jest/globals'
import { deliveryId } from '@parley/dispatcher/message/delivery'
import { createInsertDeliveries } from '@parley/dispatcher/outgoing/insert-deliveries'
import { eventDatabase } from './event-database.ts'

const MAX_INSERTED_BYTES = 8 * 1024 * 1024
const MAX_ROW_BYTES = 257 * 1024
const database = eventDatabase()
afterEach(() => void jest.restoreAllMocks())

const subscriptions = Array.from({ length: 10 }, (_, n) => ({ key: `1/${n}/0`, shard: 0, workspace: 1 }))

/** Of each record, the event for every subscription. */
const deliveriesOf = (records: number, text: string) =>
  Array.from({ length: records }, (_, n) => ({ _id: String(n), text })).flatMap((data) =>
    subscriptions.map((subscription) => ({
      ...{ subscription, event: 'message.received', record: `messages/${data._id}`, line: 'thread/t' },
      ...{ key: 'received', at: new Date(), data, shortData: {} },
    })),
  )
const idsOf = (deliveries: ReturnType<typeof deliveriesOf>) =>
  deliveries.map(({ subscription, record, key }) => deliveryId(subscription.key, record, key))
const large = () => deliveriesOf(20, 'x'.repeat(250_000))

const inserting = () =>
  createInsertDeliveries({ collections: database.collections, retentionMs: 3_600_000, now: Date.now })
const inserted = () => {
  const spy = jest.spyOn(database.collections.deliveries, 'insertMany')
  return { spy, rows: () => spy.mock.calls.map(([rows]) => [...rows]) }
}
const stored = async () => {
  const rows = await database.collections.deliveries.find().sort({ order: 1 }).toArray()
  return rows.map(({ _id }) => _id)
}

test('what is inserted at once has at most 8 MiB of payloads and one more, in one order over all of it', async () => {
  const deliveries = large()
  const { rows } = inserted()
  await inserting()(deliveries)
  const bytes = rows().map((some) => some.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0))
  expect(Math.max(...bytes)).toBeLessThanOrEqual(MAX_INSERTED_BYTES + MAX_ROW_BYTES)
  const all = rows().flat()
  expect(all.map(({ _id }) => _id)).toEqual(idsOf(deliveries))
  const sequence = all.map(({ order }) => order)
  expect(sequence).toEqual([...new Set(sequence)].toSorted((one, other) => one - other))
  expect(await stored()).toEqual(idsOf(deliveries))
})

test('at most a thousand deliveries are inserted at once', async () => {
  const deliveries = deliveriesOf(250, '')
  const { rows } = inserted()
  await inserting()(deliveries)
  expect(rows().map((some) => some.length)).toEqual([1_000, 1_000, 500])
  expect(await stored()).toEqual(idsOf(deliveries))
})

test('of deliveries that are there already no payload is made, and nothing is inserted', async () => {
  const deliveries = deliveriesOf(3, '')
  await inserting()(deliveries)
  const before = await database.collections.deliveries.find().sort({ order: 1 }).toArray()
  const { spy } = inserted()
  const toJSON = jest.fn(() => ({}))
  await inserting()(deliveries.map((delivery) => ({ ...delivery, data: { toJSON } as never })))
  expect([spy.mock.calls, toJSON.mock.calls]).toEqual([[], []])
  expect(await database.collections.deliveries.find().sort({ order: 1 }).toArray()).toEqual(before)
})

test('an insert that failed half way and is repeated leads to the same deliveries in the same order', async () => {
  const deliveries = large()
  const { deliveries: collection } = database.collections
  const insertMany = collection.insertMany.bind(collection)
  const { spy } = inserted()
  spy.mockImplementationOnce(insertMany).mockImplementationOnce(async () => {
    throw new Error('the connection was lost')
  })
  await expect(inserting()(deliveries)).rejects.toThrow('the connection was lost')
  const half = await stored()
  expect(half.length).toBeGreaterThan(0)
  expect(half.length).toBeLessThan(deliveries.length)
  await inserting()(deliveries)
  expect(await stored()).toEqual(idsOf(deliveries))
})
