import { expect, test } from '@jest/globals'
import { createInsertDeliveries } from '@parley/dispatcher/outgoing/insert-deliveries'
import { readDeliveries } from '@parley/dispatcher/outgoing/read-deliveries'
import { Receiver } from '@parley/dispatcher/outgoing/receiver'
import { eventDatabase } from './event-database.ts'

const ROUNDS = 30
const database = eventDatabase()

const named = { subscription: { key: 'a', shard: 0, workspace: 1 }, event: 'message.sent', line: 'thread/t' }
const ofMessage = (n: number) => ({
  ...{ ...named, record: `messages/${n}`, key: 'sent', at: new Date(), data: {}, shortData: {} },
})

test('of many retries that are due few are in memory, however slowly they leave', async () => {
  const { collections } = database
  const { deliveries } = collections
  let at = Date.now()
  const now = () => at
  await createInsertDeliveries({ collections, retentionMs: 60_000, now })(
    Array.from({ length: 2_000 }, (_, n) => ofMessage(n)),
  )
  await deliveries.updateMany({}, { $set: { due: new Date(at), tries: 1 }, $unset: { fresh: '' } })
  const receiver = new Receiver('a', now)
  receiver.isDueAt(at)
  let most = 0
  for (let round = 0; round < ROUNDS; round++) {
    await readDeliveries({ deliveries, shard: 0, now }, receiver)
    most = Math.max(most, receiver.buffer.length)
    const left = receiver.take()
    expect(left).toBeDefined()
    if (left !== undefined) receiver.settled(left)
    await deliveries.deleteOne({ _id: left?._id ?? '' })
    at += 1_000
  }
  expect(most).toBeLessThanOrEqual(250)
})

test('one that did not leave while others were read is read before those that follow it', async () => {
  const { collections } = database
  const reading = { deliveries: collections.deliveries, shard: 0, now: Date.now }
  const insert = createInsertDeliveries({ collections, retentionMs: 60_000, now: Date.now })
  await insert([0].map(ofMessage))
  const receiver = new Receiver('a', Date.now)
  receiver.hasMore = true
  await readDeliveries(reading, receiver)
  const first = receiver.take()
  await insert([1, 2].map(ofMessage))
  receiver.hasMore = true
  const whileInFlight = readDeliveries(reading, receiver)
  if (first !== undefined) receiver.settled(first)
  receiver.readAgain(Date.now())
  await whileInFlight
  await readDeliveries(reading, receiver)
  expect(receiver.buffer.map(({ record }) => record)).toEqual(['messages/0', 'messages/1', 'messages/2'])
})
