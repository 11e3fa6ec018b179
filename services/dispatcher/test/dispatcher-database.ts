import { afterAll, beforeAll } from '@jest/globals'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { connectMongo, type MongoConnection } from '@parley/shared/mongo'
import type { mongo } from 'mongoose'
import type { LeasedMessages } from '../src/deliver/written-message.ts'
import { advanced } from '../src/message/message-record.ts'
import { type Collections, collectionsOf, prepareDatabase } from '../src/store/collections.ts'
import { createCommitter } from '../src/store/commit.ts'

interface DispatcherDatabase {
  collections: Collections
  db(): mongo.Db
  /** Messages of a lease that never ends, written at once. */
  readonly leased: LeasedMessages
}

/** The dispatcher's database for the tests of a file: connected before the first of them, given back after the last. */
export function dispatcherDatabase({ partitions }: { partitions: number }): DispatcherDatabase {
  let connected: MongoConnection
  const database: DispatcherDatabase = {
    collections: undefined as unknown as Collections,
    db: () => connected.connection.db as unknown as mongo.Db,
    leased: {
      isLeased: () => true,
      ended: new AbortController().signal,
      handedOver: new AbortController().signal,
      commit: async (record, progress) =>
        (await createCommitter(database.collections.messages, 'test').commit(record, progress))
          ? advanced(record, progress)
          : undefined,
      ensureStored: async () => true,
      release: async () => {},
    },
  }
  beforeAll(async () => {
    const { mongoUrl } = await testServers()
    connected = connectMongo({
      url: mongoUrl,
      database: freshDatabase('dispatcher'),
      log: createLog({ service: 'test', level: 'silent' }),
      prepare: (connection) => prepareDatabase(connection, partitions),
    })
    await connected.ready
    database.collections = collectionsOf(connected.connection)
  })
  afterAll(async () => {
    await releaseDatabase(connected.connection.db)
    await connected.close()
  })
  return database
}
