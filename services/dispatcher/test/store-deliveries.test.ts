import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Collections, collectionsOf, prepareDatabase } from '@parley/dispatcher/database'
import { storeDeliveries } from '@parley/dispatcher/partitions/store-deliveries'
import { createThreads } from '@parley/dispatcher/threads/threads'
import { eventually } from '@parley/local/testing/service-under-test'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import { PARTITIONS } from '@parley/shared/broker'
import { createLog } from '@parley/shared/log'
import { MESSAGE_TYPE } from '@parley/shared/message'
import { connectMongo, type MongoConnection } from '@parley/shared/mongo'
import type { ConfirmChannel, ConsumeMessage } from 'amqplib'
import { newRecord } from './new-record.ts'

const log = createLog({ service: 'test', level: 'silent' })
let database: MongoConnection
let collections: Collections

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  const prepare: Parameters<typeof connectMongo>[0]['prepare'] = (connection) =>
    prepareDatabase(connection, PARTITIONS)
  database = connectMongo({ url: mongoUrl, database: freshDatabase('deliveries'), log, prepare })
  await database.ready
  collections = collectionsOf(database.connection)
})
afterAll(async () => {
  await database.connection.dropDatabase()
  await database.close()
})

const delivery = (messageId: string): ConsumeMessage =>
  ({
    content: Buffer.from(JSON.stringify({ extId: 'c', user: {}, thread: {}, answer: {} })),
    properties: {
      messageId,
      type: MESSAGE_TYPE,
      headers: { workspace: 1, channel: 'c', thread: 't', source: 'api' },
    },
  }) as unknown as ConsumeMessage

describe('deliveries', () => {
  test('of which an earlier holder has just stored the first run in order', async () => {
    const ran: string[] = []
    const { messages } = collections
    const threads = createThreads({
      load: ({ workspace, thread }, limit) =>
        messages.find({ workspace, thread, open: true }).sort({ order: 1 }).limit(limit).toArray(),
      run: async ({ _id }) => {
        await messages.updateOne({ _id }, { $unset: { open: '' } })
        ran.push(_id)
        return { kind: 'closed' }
      },
      recover: () => threads.complete(),
      concurrency: 4,
    })
    threads.complete()
    let order = 1_000
    const work = storeDeliveries({
      partition: 0,
      collections,
      nextOrder: () => order++,
      stored: (record) => threads.add(record),
      known: (record) => threads.wake(record),
      log,
    })
    await messages.insertOne(newRecord({ _id: 'first', order: 1 }))
    await work([delivery('first'), delivery('second')], {} as ConfirmChannel)
    await eventually(() => (ran.length === 2 ? true : undefined))
    expect(ran).toEqual(['first', 'second'])
    await threads.stop()
  })
})
