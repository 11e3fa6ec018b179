import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import mongoose from 'mongoose'
import { findThreads } from '../src/api/threads/list-threads.ts'
import { searchWords, type ThreadRecord, threadId } from '../src/message/thread-record.ts'
import { collectionsOf, prepareDatabase } from '../src/store/collections.ts'

const PEOPLE = 3_000
const NAMESAKES = 20

let connection: mongoose.Connection
const workspace = 7

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  connection = await mongoose.createConnection(mongoUrl, { dbName: freshDatabase('search') }).asPromise()
  await prepareDatabase(connection, 1)
  await collectionsOf(connection).threads.insertMany(
    Array.from({ length: PEOPLE }, (_, n) => threadAt(`Ana Name${n % (PEOPLE / NAMESAKES)}`, n)),
  )
  await connection.db?.setProfilingLevel('all')
})
beforeEach(async () => {
  await connection.db?.setProfilingLevel('off')
  await connection.db?.dropCollection('system.profile')
  await connection.db?.setProfilingLevel('all')
})
afterAll(async () => {
  await connection.db?.setProfilingLevel('off')
  if (connection.db) await releaseDatabase(connection.db)
  await connection.close()
})

function threadAt(name: string, n: number): ThreadRecord {
  const thread = { workspace, channel: 'line', extId: randomUUID() }
  return {
    _id: threadId(thread),
    ...thread,
    user: { name },
    handler: 'assistant',
    lastMessage: '',
    lastAt: new Date(n * 1_000),
    unread: 0,
    phone: `55${n}`,
    words: searchWords(name),
    expiresAt: new Date(4e12),
  }
}

const search = async (q: string, limit = 50) => {
  const { threads } = collectionsOf(connection)
  const found = await findThreads(threads, { workspace }, { q, limit })
  return found.map(({ user }) => user.name)
}

/** How many documents MongoDB read since the test began. */
async function examined(): Promise<number> {
  const profile = await connection
    .collection('system.profile')
    .find({ ns: /threads$/ })
    .toArray()
  return profile.reduce((total, one) => total + Number(one.docsExamined ?? 0), 0)
}

describe('a search for threads', () => {
  test.each([
    ['a rare word and the beginning of one that everybody has', 'name7 an'],
    ['a word that everybody has and the beginning of a rare one', 'ana name77'],
  ])('by %s reads those with the rare one', async (_title, q) => {
    const found = await search(q)
    expect(found).toHaveLength(NAMESAKES)
    expect(new Set(found).size).toBe(1)
    // The others are counted as far as 1,000.
    expect(await examined()).toBeLessThan(1_000 + 2 * NAMESAKES + 1)
  })

  test('by words that many have finds the newest of them', async () => {
    expect(await search('ana n', 2)).toEqual([`Ana Name149`, `Ana Name148`, `Ana Name147`])
  })

  test('by a beginning, a number or nothing that is a word', async () => {
    expect(await search('name149')).toHaveLength(NAMESAKES)
    expect(await search('+55 2999')).toEqual(['Ana Name149'])
    expect(await search('!?')).toEqual([])
    expect(await search('name149 bo')).toEqual([])
  })
})
