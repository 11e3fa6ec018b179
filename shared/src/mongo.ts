import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import mongoose, { type Connection } from 'mongoose'
import { pause } from './every.ts'
import type { Log } from './log.ts'
import { type Memory, sizesOf } from './memory.ts'

const fromMongoose = createRequire(createRequire(import.meta.url).resolve('mongoose'))
const driver = fromMongoose('mongodb/lib/cmap/connection.js') as {
  Connection: { prototype: DriverConnection }
}

const CONNECT_MS = 15_000

// Operations fail at once before the first connect; mongoose would queue them for 10 s.
mongoose.set('bufferCommands', false)
settleCommandsOnClose()

const SERVER_SELECTION_MS = 3_000
const SOCKET_MS = 10_000
const RETRY_MS = 1_000

/**
 * Opens a connection to one service's own database and returns at once; until MongoDB is reached, and
 * whenever it is unavailable, operations fail within 3 s. `prepare` (indexes, seeds) runs once, after the first
 * connect, and is tried again until it succeeds.
 */
export function connectMongo(options: {
  url: string
  database: string
  /** How many connections it may have. */
  memory?: Memory
  log: Log
  prepare(connection: Connection): Promise<void>
}): MongoConnection {
  const { url, database, memory = 'default', log, prepare } = options
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
            maxPoolSize: sizesOf(memory).mongoConnections,
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

/** The part that we need of the driver's `cmap/connection`, which it does not export. */
interface DriverConnection {
  socket: Pick<Socket, 'write' | 'emit'>
  closed: boolean
  cleanup(error: Error): void
}

/**
 * Lets commands of the MongoDB driver reject when their connection closes while they are being written. The driver (7.8)
 * waits for the socket's `drain` then, which a destroyed socket never emits, and no timeout of the driver ends that: such a
 * command, and whatever waits for it, never settled. It happened to commands that began between the end of a socket
 * and its `close`, and to long ones that timed out. Must be called once for each process, before the first connection.
 */
function settleCommandsOnClose(): void {
  const { prototype } = driver.Connection
  const { cleanup } = prototype
  prototype.cleanup = function (error) {
    const wasClosed = this.closed
    cleanup.call(this, error)
    if (wasClosed) return
    // The driver takes either for a lost connection: what writes from now on, and what waits to be written.
    this.socket.write = () => {
      throw error
    }
    this.socket.emit('drain')
  }
}
