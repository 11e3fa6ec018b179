import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { connectMongo, type MongoConnection } from '@parley/shared/mongo'
import { ensureIndexes } from '@parley/shared/prepare-collections'
import { mongo } from 'mongoose'
import { collectionsOf, prepareDatabase } from '../../src/store/collections.ts'
import { eventCollectionsOf, prepareEvents } from '../../src/store/event-collections.ts'

const log = createLog({ service: 'test', level: 'silent' })
let database: MongoConnection
/** The commands that were sent, by their names. */
const sent: string[] = []

beforeAll(async () => {
  const { mongoUrl: url } = await testServers()
  database = connectMongo({
    url: `${url}${url.includes('?') ? '&' : '?'}monitorCommands=true`,
    database: freshDatabase('dispatcher'),
    log,
    prepare: async () => undefined,
  })
  await database.ready
  database.connection.getClient().on('commandStarted', ({ commandName }) => sent.push(commandName))
})
afterAll(async () => {
  await releaseDatabase(database.connection.db)
  await database.close()
})

const db = () => database.connection.db as unknown as mongo.Db
const namesOf = async (collection: mongo.Collection) => (await collection.indexes()).map(({ name }) => name)

describe('the indexes of a collection', () => {
  test('are made where they are missing; outdated ones are dropped, and others stay', async () => {
    const things = db().collection('things')
    await ensureIndexes(database.connection, things, [{ key: { a: 1 } }], { outdated: ['old_1'] })
    await things.createIndexes([{ key: { old: 1 } }, { key: { own: 1 } }])
    const indexes = [{ key: { a: 1 } }, { key: { b: 1, a: -1 } }, { key: { a: -1, b: 1 } }] as const
    await ensureIndexes(database.connection, things, [...indexes], { outdated: ['old_1'] })
    expect((await namesOf(things)).toSorted()).toEqual(['_id_', 'a_-1_b_1', 'a_1', 'b_1_a_-1', 'own_1'])
  })

  test('are refused by the database where one of the same key has other options', async () => {
    const things = db().collection('things of a time')
    await ensureIndexes(database.connection, things, [{ key: { at: 1 }, expireAfterSeconds: 60 }])
    await expect(
      ensureIndexes(database.connection, things, [{ key: { at: 1 }, expireAfterSeconds: 61 }]),
    ).rejects.toThrow(mongo.MongoServerError)
  })

  test('are all there once an instance has started, and the next one writes nothing', async () => {
    const prepare = async () => {
      await prepareDatabase(database.connection, 4)
      await prepareEvents(database.connection)
    }
    await prepare()
    const made = await namesOf(db().collection('messages'))
    expect(made).toContain('partition_1_workspace_1_thread_1_lane_1_order_1')
    sent.length = 0
    await prepare()
    expect([...new Set(sent)].toSorted()).toEqual(['find', 'listCollections', 'listIndexes'])
    await db().collection('messages').dropIndex('workspace_1_channel_1_receivedAt_-1__id_-1')
    await prepare()
    expect((await namesOf(db().collection('messages'))).toSorted()).toEqual(made.toSorted())
  })

  test('come with every collection, so that no first writes conflict over one', async () => {
    await prepareDatabase(database.connection, 4)
    await prepareEvents(database.connection)
    const listed = await db().listCollections({}, { nameOnly: true }).toArray()
    const { connection } = database
    const all = Object.values({ ...collectionsOf(connection), ...eventCollectionsOf(connection) })
    const present = listed.map(({ name }) => name)
    expect(present).toEqual(expect.arrayContaining(all.map(({ collectionName }) => collectionName)))
  })

  test('have small pages where each message has its place somewhere else; one of an earlier version stays', async () => {
    const [byThread, byChannel] = ['thread', 'channel'].map(
      (field) => `workspace_1_${field}_1_receivedAt_-1__id_-1`,
    ) as [string, string]
    const messages = db().collection<{ _id: string }>('messages')
    const pageOf = async (name: string) => {
      const [stats] = await messages.aggregate([{ $collStats: { storageStats: {} } }]).toArray()
      return /leaf_page_max=(\w+)/.exec(stats?.storageStats.indexDetails[name].creationString)?.[1]
    }
    await prepareDatabase(database.connection, 4)
    expect(await pageOf(byThread)).toBe('4KB')
    expect(await pageOf(byThread.replace('thread', 'phone'))).toBe('4KB')
    expect(await pageOf(byChannel)).toBe('16k')
    const longest = { workspace: 1, thread: 'ü'.repeat(1_024), receivedAt: new Date(0), _id: 'm'.repeat(128) }
    await messages.insertOne(longest)
    const { workspace, thread } = longest
    expect(await messages.find({ workspace, thread }).hint(byThread).toArray()).toEqual([longest])

    await messages.dropIndex(byThread)
    await messages.createIndex({ workspace: 1, thread: 1, receivedAt: -1, _id: -1 })
    await prepareDatabase(database.connection, 4)
    expect(await pageOf(byThread)).toBe('16k')
  })
})
