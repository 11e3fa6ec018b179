import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import {
  type EventCollections,
  eventCollectionsOf,
  prepareEvents,
} from '@parley/dispatcher/store/event-collections'
import {
  emptyDatabase,
  freshDatabase,
  releaseDatabase,
  testServers,
} from '@parley/local/testing/test-servers'
import mongoose, { type Connection } from 'mongoose'

interface EventDatabase {
  connection: Connection
  collections: EventCollections
}

/** A database with the collections of events for the tests of a file, empty before each of them. */
export function eventDatabase(): EventDatabase {
  const database = {} as EventDatabase
  beforeAll(async () => {
    const { mongoUrl } = await testServers()
    const options = { dbName: freshDatabase('events') }
    database.connection = await mongoose.createConnection(mongoUrl, options).asPromise()
    await prepareEvents(database.connection)
    database.collections = eventCollectionsOf(database.connection)
  })
  beforeEach(() => emptyDatabase(database.connection.db as mongoose.mongo.Db))
  afterAll(async () => {
    await releaseDatabase(database.connection.db)
    await database.connection.close()
  })
  return database
}
