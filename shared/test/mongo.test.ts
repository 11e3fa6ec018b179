import diagnostics from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import mongoose from 'mongoose'
import { createLog } from '../src/log.ts'
import { connectMongo, type MongoConnection } from '../src/mongo.ts'

const SOCKET_MS = 500
const TEST_MS = 30_000
/** More than the sockets between us and the database take in. */
const LONG = Array.from({ length: 8 }, () => ({ text: 'x'.repeat(4_000_000) }))

const sockets = new Set<Socket>()
const remember = (message: unknown) => {
  const { socket } = message as { socket: Socket }
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
}
let database: string
let server: { host: string; port: number }
let proxy: TcpProxy
let mongo: MongoConnection

beforeAll(async () => {
  diagnostics.subscribe('net.client.socket', remember)
  const { mongoUrl } = await testServers()
  const { hostname, port } = new URL(mongoUrl)
  database = freshDatabase('mongo')
  server = { host: hostname, port: Number(port) }
  proxy = await startTcpProxy(server)
  const log = createLog({ service: 'test', level: 'silent' })
  mongo = connectMongo({ url: urlOf(proxy), database, log, prepare: async () => undefined })
  await mongo.ready
})
afterAll(async () => {
  diagnostics.unsubscribe('net.client.socket', remember)
  if (mongo.connection.db) await releaseDatabase(mongo.connection.db)
  await mongo.close()
  await proxy.close()
})

const urlOf = ({ port }: TcpProxy) => `mongodb://127.0.0.1:${port}/?directConnection=true`

test(
  'a command that begins when its socket has ended and has not closed yet is settled',
  async () => {
    const documents = mongo.connection.collection('documents')
    await documents.insertOne({})
    // As Node does when the other side has ended it: `close` is emitted in the last phase of the event loop.
    for (const socket of sockets) if (socket.remotePort === proxy.port) socket.destroy()
    expect(await documents.countDocuments()).toBe(1)
  },
  TEST_MS,
)

test(
  'a command whose connection times out while it is being written rejects',
  async () => {
    const stalling = await startTcpProxy(server)
    const options = { socketTimeoutMS: SOCKET_MS, retryWrites: false }
    const client = new mongoose.mongo.MongoClient(urlOf(stalling), options)
    try {
      const documents = client.db(database).collection('long')
      await documents.insertOne({})
      stalling.stall()
      await expect(documents.insertMany(LONG)).rejects.toThrow('timed out')
    } finally {
      await client.close()
      await stalling.close()
    }
  },
  TEST_MS,
)
