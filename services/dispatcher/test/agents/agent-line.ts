import { afterAll, afterEach, beforeAll } from '@jest/globals'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { connectMongo, type MongoConnection } from '@parley/shared/mongo'
import { type Collections, collectionsOf, prepareDatabase } from '../../src/store/collections.ts'
import { type AgentBehaviour, AgentSystem } from './agent-system.ts'

/** A database for the tests of a file, and systems that are closed after each test. */
export function agentLine() {
  let database: MongoConnection
  let number = 0
  const open: AgentSystem[] = []
  const line = {
    collections: undefined as unknown as Collections,
    start(behaviour: AgentBehaviour): AgentSystem {
      const system = new AgentSystem({ number: ++number, collections: line.collections, ...behaviour })
      open.push(system)
      return system
    },
  }
  beforeAll(async () => {
    const { mongoUrl } = await testServers()
    database = connectMongo({
      url: mongoUrl,
      database: freshDatabase('dispatcher'),
      log: createLog({ service: 'test', level: 'silent' }),
      prepare: (connection) => prepareDatabase(connection, 1),
    })
    await database.ready
    line.collections = collectionsOf(database.connection)
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((system) => system.close()))
  })
  afterAll(async () => {
    await releaseDatabase(database.connection.db)
    await database.close()
  })
  return line
}
