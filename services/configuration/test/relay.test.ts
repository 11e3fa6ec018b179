import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import type mongoose from 'mongoose'
import { type DocumentWrite, startDocumentRelay } from '../src/relay/relay.ts'
import { type Database, openDatabase } from '../src/store/database.ts'
import { eventually } from './eventually.ts'

const log = createLog({ service: 'test', level: 'silent' })
const written = { as: 'created', at: new Date(0).toISOString(), by: { _id: 1, username: 'a' } } as const

let database: Database
beforeAll(async () => {
  const { mongoUrl } = await testServers()
  database = openDatabase({ url: mongoUrl, database: freshDatabase('configuration'), log })
  await eventually(
    () => database.isUp(),
    (up) => up,
  )
})
afterAll(async () => {
  await releaseDatabase(database.connected())
  await database.close()
})

const write = (id: number) =>
  database.documents('jobs').insertOne({ _id: { workspace: 1, id }, version: 1, deleted: true, written })

const idsOf = (changes: DocumentWrite[]) => changes.map(({ stored }) => stored._id.id)

/** The database, but its first change stream fails as when the oplog has moved on. */
function forgetting(real: Database): Database {
  let failed = false
  const db = real.connected()
  const watch = (...args: Parameters<typeof db.watch>) => {
    if (failed) return db.watch(...args)
    failed = true
    throw Object.assign(new Error('ChangeStreamHistoryLost'), { code: 286 })
  }
  const connected = () => ({ watch, command: db.command.bind(db) }) as unknown as mongoose.mongo.Db
  return { ...real, connected }
}

test('when the oplog has moved on, everything comes once, and then what happens next', async () => {
  for (const id of [1, 2, 3]) await write(id)
  const seen: number[] = []
  const relay = startDocumentRelay({
    name: 'events',
    database: forgetting(database),
    log,
    handle: async (changes) => void seen.push(...idsOf(changes)),
  })
  await eventually(
    () => seen,
    (ids) => ids.length >= 3,
  )
  await write(4)
  await eventually(
    () => seen,
    (ids) => ids.includes(4),
  )
  expect([...new Set(seen)]).toEqual([1, 2, 3, 4])
  await relay.close()
})

test('what comes once again comes in batches that the broker takes, however large the documents are', async () => {
  const doc = { _id: 0, createdAt: written.at, updatedAt: written.at, text: 'x'.repeat(4 * 1024 * 1024) }
  for (let id = 1; id <= 8; id++)
    await database
      .documents('steps')
      .insertOne({ _id: { workspace: 1, id }, version: 1, deleted: false, written, doc })
  const batches: DocumentWrite[][] = []
  const relay = startDocumentRelay({
    name: 'events',
    database: forgetting(database),
    log,
    handle: async (changes) => void batches.push(changes),
  })
  const stepsIn = (batch: DocumentWrite[]) => batch.filter(({ resource }) => resource === 'steps')
  await eventually(
    () => new Set(batches.flatMap(stepsIn).map(({ stored }) => stored._id.id)).size,
    (count) => count === 8,
  )
  await write(5)
  await eventually(
    () => database.relays().findOne({ _id: 'events' }),
    (stored) => stored?.from !== undefined,
  )
  await relay.close()
  expect(Math.max(...batches.map((batch) => stepsIn(batch).length))).toBeLessThanOrEqual(3)
})

test('changes that a relay failed to handle come again in order, and none is skipped', async () => {
  const seen: number[] = []
  let failures = 3
  const relay = startDocumentRelay({
    name: 'history',
    database,
    log,
    handle: async (changes) => {
      if (failures-- > 0) throw new Error('not now')
      seen.push(...idsOf(changes))
    },
  })
  for (const id of [11, 12, 13]) await write(id)
  await eventually(
    () => seen,
    (ids) => ids.includes(13),
  )
  expect(seen.filter((id) => id > 10)).toEqual([11, 12, 13])
  await relay.close()
})

test('a burst comes in the order of the writes, at most 100 at a time', async () => {
  const batches: number[][] = []
  const relay = startDocumentRelay({
    name: 'history',
    database,
    log,
    handle: async (changes) => void batches.push(idsOf(changes)),
  })
  const burst = Array.from({ length: 250 }, (_, at) => 100 + at)
  await database
    .documents('jobs')
    .insertMany(burst.map((id) => ({ _id: { workspace: 1, id }, version: 1, deleted: true, written })))
  const seen = () => batches.flat().filter((id) => id >= 100)
  await eventually(seen, (ids) => ids.includes(349))
  // A change may come again.
  expect([...new Set(seen())]).toEqual(burst)
  expect(Math.max(...batches.map((batch) => batch.length))).toBeLessThanOrEqual(100)
  await relay.close()
})

test("the relay reports the age of the write that it can't handle", async () => {
  let isUnavailable = true
  const relay = startDocumentRelay({
    name: 'events',
    database,
    log,
    handle: async () => {
      if (isUnavailable) throw new Error('not now')
    },
  })
  expect(relay.lagSeconds()).toBe(0)
  await write(21)
  await eventually(relay.lagSeconds, (seconds) => seconds > 0)
  isUnavailable = false
  await eventually(relay.lagSeconds, (seconds) => seconds === 0)
  await relay.close()
})
