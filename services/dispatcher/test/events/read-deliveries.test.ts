import { expect, test } from '@jest/globals'
import { createInsertDeliveries } from '@parley/dispatcher/events/insert-deliveries'
import { readDeliveries } from '@parley/dispatcher/events/read-deliveries'
import { Receiver } from '@parley/dispatcher/events/receiver'
import { eventDatabase } from './event-database.ts'

const ROUNDS = 30
const database = eventDatabase()

test('of many retries that are due few are in memory, however slowly they leave', async () => {
  const { collections } = database
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
