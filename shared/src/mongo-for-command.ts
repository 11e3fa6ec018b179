import type { Log } from './log.ts'
import { connectMongo, type MongoConnection } from './mongo.ts'

const CONNECT_MS = 15_000

/** Connects a command that runs once. Where the database is not reached within 15 s it says so, and ends the process with 1. */
export async function connectMongoForCommand(options: {
  url: string
  database: string
  log: Log
}): Promise<MongoConnection> {
  const mongo = connectMongo({ ...options, prepare: async () => undefined })
  const giveUp = setTimeout(() => {
    console.error('The database was not reached.')
    process.exit(1)
  }, CONNECT_MS)
  await mongo.ready
  clearTimeout(giveUp)
  return mongo
}
