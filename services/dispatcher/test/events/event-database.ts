import { afterEach, beforeEach } from '@jest/globals'
import {
  type EventCollections,
  eventCollectionsOf,
  prepareEvents,
} from '@parley/dispatcher/store/event-collections'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import mongoose, { type Connection } from 'mongoose'

interface EventDatabase {
  connection: Connection
  collections: EventCollections
}

/** A database with the collections of events for each test of a file. */
export function eventDatabase(): EventDatabase {
  const database = {} as EventDatabase
  beforeEach(async () => {
    const { mongoUrl } = await testServers()
    const options = { dbName: freshDatabase('events') }
    database.connection = await mongoose.createConnection(mongoUrl, options).asPromise()
    await prepareEvents(database.connection)
    database.collections = eventCollectionsOf(database.connection)
  })
  afterEach(async () => {
    const { connection } = database
    if (connection.db) await releaseDatabase(connection.db)
    await connection.close()
  })
  return database
}
