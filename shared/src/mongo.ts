import mongoose, { type Connection } from 'mongoose'
import { pause } from './every.ts'
import type { Log } from './log.ts'
import { settleCommandsOnClose } from './settle-commands.ts'

const CONNECT_MS = 15_000

// Operations fail at once before the first connect; mongoose would queue them for 10 s.
mongoose.set('bufferCommands', false)
settleCommandsOnClose()

const SERVER_SELECTION_MS = 3_000
const SOCKET_MS = 10_000
const RETRY_MS = 1_000
const MAX_POOL = 50

/**
 * Opens a connection to one service's own database and returns at once; until MongoDB is reached, and
 * whenever it is unavailable, operations fail within 3 s. `prepare` (indexes, seeds) runs once, after the first
 * connect, and is tried again until it succeeds.
 */
export function connectMongo(options: {
  url: string
  database: string
  log: Log
  prepare(connection: Connection): Promise<void>
}): MongoConnection {
  const { url, database, log, prepare } = options
  const connection = mongoose.createConnection()
  connection.on('error', (error: Error) => log.warn({ reason: error.message }, 'database error'))
  const closing = new AbortController()
  connection.on('disconnected', () => {
    if (!closing.signal.aborted) log.warn('database lost')
  })
  let prepared = false
  const ready = (async () => {
    while (!closing.signal.aborted) {
      try {
        if (connection.readyState !== mongoose.ConnectionStates.connected) {
          await connection.openUri(url, {
            dbName: database,
            serverSelectionTimeoutMS: SERVER_SELECTION_MS,
            socketTimeoutMS: SOCKET_MS,
            maxPoolSize: MAX_POOL,
            waitQueueTimeoutMS: SERVER_SELECTION_MS,
            autoIndex: false,
            w: 'majority',
          })
        }
        await prepare(connection)
        prepared = true
        log.info('database connected')
        return
      } catch (error) {
        log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'database not reached')
        await pause(RETRY_MS, closing.signal)
      }
    }
  })()
  return {
    connection,
    ready,
    isUp: async () => {
      if (!prepared) return false
      await connection.db?.command({ ping: 1 })
      return connection.db !== undefined
    },
    close: async () => {
      closing.abort()
      await ready
      await connection.close()
    },
  }
}

export interface MongoConnection {
  connection: Connection
  /** Resolves once connected and prepared; never rejects. */
  ready: Promise<void>
  isUp(): Promise<boolean>
  close(): Promise<void>
}

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
