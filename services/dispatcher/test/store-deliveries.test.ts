import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Collections, collectionsOf, prepareDatabase } from '@parley/dispatcher/database'
import type { MessageRecord } from '@parley/dispatcher/message-record'
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

/** A collection whose first insert gets only as far as the second document before `gate` opens. */
function interrupted(messages: Collections['messages'], gate: Promise<void>): Collections['messages'] {
  let first = true
  return new Proxy(messages, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown
      if (typeof method !== 'function') return method
      if (name !== 'insertMany' || !first) return method.bind(target)
      first = false
      return async (records: MessageRecord[], options: object) => {
        await target.insertMany(records.slice(1))
        await gate
        return target.insertMany(records, options)
      }
    },
  })
}

describe('deliveries', () => {
  test('that come again over a new connection, while they are being stored, keep their order', async () => {
    const gate = Promise.withResolvers<void>()
    let order = 1_000
    const work = storeDeliveries({
      partition: 1,
      collections: { ...collections, messages: interrupted(collections.messages, gate.promise) },
      held: () => true,
      nextOrder: () => order++,
      stored: () => {},
      known: () => {},
      log,
    })
    const channel = {} as ConfirmChannel
    const first = work([delivery('again-1'), delivery('again-2')], channel)
    const second = work([delivery('again-1'), delivery('again-2'), delivery('again-3')], channel)
    setTimeout(gate.resolve, 100)
    await Promise.all([first, second])
    const stored = await collections.messages.find({ partition: 1 }).sort({ order: 1 }).toArray()
    expect(stored.map(({ _id }) => _id)).toEqual(['again-1', 'again-2', 'again-3'])
  })

  test('that waited until the lease was gone are left to the next holder', async () => {
    let held = true
    const gate = Promise.withResolvers<void>()
    const work = storeDeliveries({
      partition: 2,
      collections: { ...collections, messages: interrupted(collections.messages, gate.promise) },
      held: () => held,
      nextOrder: () => 1,
      stored: () => {},
      known: () => {},
      log,
    })
    const channel = {} as ConfirmChannel
    const first = work([delivery('late-1'), delivery('late-2')], channel)
    const second = work([delivery('late-3')], channel)
    held = false
    gate.resolve()
    await expect(Promise.allSettled([first, second])).resolves.toMatchObject([
      { status: 'rejected' },
      { status: 'rejected', reason: new Error('the lease is gone') },
    ])
    expect(await collections.messages.countDocuments({ _id: { $in: ['late-1', 'late-2', 'late-3'] } })).toBe(
      0,
    )
  })

  test('of which an earlier holder has just stored the first run in order', async () => {
    const ran: string[] = []
    const { messages } = collections
    const threads = createThreads({
      load: ({ workspace, thread }, limit) =>
        messages
          .find({ partition: 0, workspace, thread, open: true })
          .sort({ order: 1 })
          .limit(limit)
          .toArray(),
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
      held: () => true,
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
