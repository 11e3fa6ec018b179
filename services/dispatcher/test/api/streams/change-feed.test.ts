import { afterEach, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import { mongo } from 'mongoose'
import { type ChangeFeed, createChangeFeed, type FeedReader } from '../../../src/api/streams/change-feed.ts'
import { keyAfter, type Position, timeOf } from '../../../src/api/streams/position.ts'
import { newRecord } from '../../new-record.ts'

const log = createLog({ service: 'test', level: 'silent' })
const NOW = 1_700_000_000
const at = (t: number) => new mongo.Timestamp({ t, i: 1 })
const after = (t: number): Position => ({ key: keyAfter(at(t)) })

let feed: ChangeFeed | undefined
afterEach(() => feed?.close())

interface StoredWrite {
  clusterTime: mongo.Timestamp
  fullDocument: object
}

/** A new message as the change stream gives it, but for the message. */
const storedAt = (t: number) => ({
  _id: { _data: `82${t.toString(16).toUpperCase()}00000001` },
  ...{
    clusterTime: at(t),
    operationType: 'insert',
    ns: { coll: 'messages' },
    documentKey: { _id: `m-${t}` },
  },
})

/** A database whose oplog goes back to `oldest`, and which says what was read from where. */
function databaseSince(oldest: number, writes: StoredWrite[] = []) {
  const opened: number[] = []
  const state = { isAvailable: true }
  const db = {
    async command() {
      if (!state.isAvailable) throw new Error('no connection')
      return { operationTime: at(NOW) }
    },
    watch: (_pipeline: object, { startAtOperationTime }: { startAtOperationTime: mongo.Timestamp }) => {
      const from = startAtOperationTime.getHighBitsUnsigned()
      opened.push(from)
      const rest = writes.filter(({ clusterTime }) => clusterTime.getHighBitsUnsigned() >= from)
      const token = { _data: `82${NOW.toString(16).toUpperCase()}00000009` }
      return {
        resumeToken: token,
        async tryNext() {
          if (from < oldest) throw Object.assign(new Error('history lost'), { code: 286 })
          await new Promise((resolve) => setTimeout(resolve, 1))
          return rest.shift() ?? null
        },
        close: async () => undefined,
      }
    },
  }
  return { opened, state, db: db as unknown as mongo.Db }
}

function readerAt(position: Position): FeedReader & { gaps: string[]; offered: string[] } {
  const gaps: string[] = []
  const offered: string[] = []
  return {
    ...{ workspace: 1, position, gaps, offered },
    offer: ({ key }) => void offered.push(key),
    gap: (key) => void gaps.push(key),
    moveOn: () => undefined,
    isFull: () => false,
    drained: async () => undefined,
    isClosed: () => false,
    close: () => undefined,
  }
}

test('a reader whose place the oplog no longer has is told so, and others go on', async () => {
  const { db, opened } = databaseSince(NOW - 100)
  const own = createChangeFeed({ db: () => db, view: (document) => document, log })
  feed = own
  await own.begin(undefined)
  const lost = readerAt(after(NOW - 1_000))
  const fine = readerAt(after(NOW - 50))
  await Promise.all([own.follow(lost), own.follow(fine)])
  expect([lost.gaps, fine.gaps]).toEqual([[keyAfter(at(NOW))], []])
  expect(opened.toSorted()).toEqual([NOW - 1_000, NOW - 50, NOW])
})

test('a reader who is told so once the database is back goes on then', async () => {
  const { db, opened, state } = databaseSince(NOW - 100)
  const own = createChangeFeed({ db: () => db, view: (document) => document, log })
  feed = own
  await own.begin(undefined)
  state.isAvailable = false
  const lost = readerAt(after(NOW - 1_000))
  const following = own.follow(lost)
  await eventually(() => opened.includes(NOW - 1_000))
  state.isAvailable = true
  await following
  expect(lost.gaps).toEqual([keyAfter(at(NOW))])
})

test('a change that has no events that can be made is logged and passed over, also by who catches up', async () => {
  const errors: unknown[] = []
  const { db } = databaseSince(NOW - 100, [
    { ...storedAt(NOW - 40), fullDocument: { workspace: 1 } },
    { ...storedAt(NOW - 30), fullDocument: newRecord() },
    { ...storedAt(NOW + 1), fullDocument: { workspace: 1 } },
    { ...storedAt(NOW + 2), fullDocument: newRecord() },
  ])
  const logged = { ...log, error: (details: unknown) => void errors.push(details) } as typeof log
  const own = createChangeFeed({ db: () => db, view: (document) => document, log: logged })
  feed = own
  await own.begin(undefined)
  const reader = readerAt(after(NOW - 50))
  await own.follow(reader)
  await eventually(() => reader.offered.length === 2)
  expect(reader.offered.map((key) => timeOf(key).getHighBitsUnsigned())).toEqual([NOW - 30, NOW + 2])
  expect(errors).toContainEqual({ resource: 'messages', id: `m-${NOW - 40}`, reason: expect.any(String) })
  expect(errors).toContainEqual({ resource: 'messages', id: `m-${NOW + 1}`, reason: expect.any(String) })
})

test('readers who come back at one time are brought up by one stream', async () => {
  const { db, opened } = databaseSince(NOW - 100)
  const own = createChangeFeed({ db: () => db, view: (document) => document, log })
  feed = own
  await own.begin(undefined)
  const readers = Array.from({ length: 100 }, (_, n) => readerAt(after(NOW - 20 + (n % 10))))
  await Promise.all(readers.map((reader) => own.follow(reader)))
  expect(opened.filter((from) => from < NOW)).toEqual([NOW - 20])
})

test('an id of the future is of another history', async () => {
  const { db } = databaseSince(NOW - 100)
  feed = createChangeFeed({ db: () => db, view: (document) => document, log })
  expect(await feed.begin(after(NOW + 10))).toEqual({ position: after(NOW), isLost: true })
  expect(await feed.begin(after(NOW - 10))).toEqual({ position: after(NOW - 10), isLost: false })
})
