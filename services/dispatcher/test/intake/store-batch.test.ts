import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import mongoose from 'mongoose'
import { storeBatch } from '../../src/intake/intake-store.ts'
import { advanced, type MessageRecord } from '../../src/message/message-record.ts'
import { newRecord } from '../new-record.ts'

let proxy: TcpProxy
let client: mongoose.mongo.MongoClient
let messages: mongoose.mongo.Collection<MessageRecord>

beforeAll(async () => {
  const { hostname, port } = new URL((await testServers()).mongoUrl)
  proxy = await startTcpProxy({ host: hostname, port: Number(port) })
  const url = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`
  client = new mongoose.mongo.MongoClient(url, { w: 'majority', serverSelectionTimeoutMS: 3_000 })
  messages = client.db(freshDatabase('dispatcher')).collection('messages')
})
beforeEach(() => messages.deleteMany({}))
afterAll(async () => {
  await client.db(messages.dbName).dropDatabase()
  await client.close()
  await proxy.close()
})

const record = (_id: string, order: number) => newRecord({ _id, order })
const progress = { tries: 0, sends: [], timeline: [], attempts: [] }
const ids = (records: Array<Pick<MessageRecord, '_id'>>) => records.map(({ _id }) => _id)

test('what is new is stored, what came before is known', async () => {
  expect(await storeBatch(messages, [record('a', 1), record('b', 2)])).toMatchObject({ known: [] })
  const { stored, known } = await storeBatch(messages, [record('b', 3), record('c', 4)])
  expect([ids(stored), ids(known)]).toEqual([['c'], ['b']])
  await messages.updateOne({ _id: 'a' }, { $unset: { open: '' } })
  expect(await storeBatch(messages, [record('a', 5)])).toEqual({ stored: [], known: [] })
})

test('a batch given again counts as stored, since it was', async () => {
  const batch = [record('a', 1), record('b', 2)]
  await storeBatch(messages, batch)
  const { stored, known } = await storeBatch(messages, batch)
  expect([ids(stored), ids(known)]).toEqual([['a', 'b'], []])
})

test('what was written since it was stored is known, not stored', async () => {
  await storeBatch(messages, [record('a', 1)])
  const later = [{ ...record('a', 1), revision: 1 }]
  const { stored, known } = await storeBatch(messages, later)
  expect([ids(stored), ids(known)]).toEqual([[], ['a']])
})

test('what is undefined is not stored', async () => {
  const ended = advanced(
    { ...record('a', 1), due: new Date(), phone: undefined },
    { ...progress, state: 'done' },
  )
  await storeBatch(messages, [ended])
  const absent = ['open', 'due', 'phone', 'reason', 'waitingFor'].map((field) => ({
    [field]: { $exists: true },
  }))
  expect(await messages.countDocuments({ $or: absent })).toBe(0)
  expect(await messages.findOne()).toEqual({ ...record('a', 1), open: undefined, state: 'done', revision: 1 })
})

test('one id twice in a batch is stored once', async () => {
  const { stored } = await storeBatch(messages, [record('a', 1), record('a', 2)])
  expect(stored.map(({ order }) => order)).toEqual([1])
})

test('while the database is unavailable nothing counts as stored, and the same batch can be given again', async () => {
  const batch = [record('a', 1), record('b', 2)]
  proxy.cut()
  await expect(storeBatch(messages, batch)).rejects.toThrow()
  proxy.mend()
  expect(ids((await storeBatch(messages, batch)).stored)).toEqual(['a', 'b'])
  expect(await messages.countDocuments()).toBe(2)
})
