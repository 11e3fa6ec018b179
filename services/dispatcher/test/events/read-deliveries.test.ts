import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createInsertDeliveries } from '@parley/dispatcher/events/insert-deliveries'
import { readDeliveries } from '@parley/dispatcher/events/read-deliveries'
import { Receiver } from '@parley/dispatcher/events/receiver'
import {
  type EventCollections,
  eventCollectionsOf,
  prepareEvents,
} from '@parley/dispatcher/store/event-collections'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import mongoose, { type Connection } from 'mongoose'

const ROUNDS = 30
let connection: Connection
let collections: EventCollections

beforeEach(async () => {
  const { mongoUrl } = await testServers()
  connection = await mongoose.createConnection(mongoUrl, { dbName: freshDatabase('read') }).asPromise()
  await prepareEvents(connection)
  collections = eventCollectionsOf(connection)
})
afterEach(async () => {
  if (connection.db) await releaseDatabase(connection.db)
  await connection.close()
})

test('of many retries that are due few are in memory, however slowly they leave', async () => {
  const { deliveries } = collections
  let at = Date.now()
  const now = () => at
  const named = {
    subscription: { key: 'a', shard: 0, workspace: 1 },
    event: 'message.sent',
    line: 'thread/t',
  }
  await createInsertDeliveries({ collections, retentionMs: 60_000, now })(
    Array.from({ length: 2_000 }, (_, n) => ({
      ...{ ...named, record: `messages/${n}`, key: 'sent', at: new Date(), data: {}, shortData: {} },
    })),
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
