import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import mongoose from 'mongoose'
import { findThreads, positionOf } from '../../src/api/threads/list-threads.ts'
import { phoneEnds, searchWords } from '../../src/message/search-words.ts'
import { type ThreadRecord, threadId } from '../../src/message/thread-record.ts'
import { collectionsOf, prepareDatabase } from '../../src/store/collections.ts'

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

function threadAt(name: string, n: number, more: Partial<ThreadRecord> = {}): ThreadRecord {
  const thread = { workspace, channel: 'line', extId: randomUUID(), ...more }
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
    ...more,
    expiresAt: new Date(4e12),
  }
}

const search = async (q: string, limit = 50) => {
  const found = await findThreads(collectionsOf(connection), { workspace }, { q, limit })
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

describe('a search for what was said', () => {
  const other = 8
  const day = 24 * 3_600_000
  let count = 0
  const collections = () => collectionsOf(connection)

  /** A thread, and a message in it with these words, of the day `n`. */
  async function saidIn(name: string, n: number, words: string, more: Partial<ThreadRecord> = {}) {
    const thread = threadAt(name, n, { workspace: other, ...more })
    await collections().threads.insertOne(thread)
    await saidIt(thread._id, n, words)
    return thread
  }

  async function saidIt(thread: string, n: number, words: string): Promise<void> {
    const at = new Date(n * day)
    const entry = { workspace: other, thread, at, words: searchWords(words), expiresAt: new Date(4e12) }
    await collections().messageWords.insertOne({ _id: `said-${++count}`, ...entry })
  }

  const find = async (q: string, more: object = {}, filter: object = {}) => {
    const asked = { q, limit: 50, ...more } as Parameters<typeof findThreads>[2]
    const visible = { workspace: other, $and: [filter] }
    return (await findThreads(collections(), visible, asked)).map(({ user }) => user.name)
  }

  test('finds threads by all words in one message, behind people of that name, page after page', async () => {
    await saidIn('Parcel Pat', 1, 'hello')
    await saidIn('Quinn', 2, 'where is my parcel')
    const rosa = await saidIn('Rosa', 3, 'parcels late')
    await saidIt(rosa._id, 4, 'where is it')
    expect(await find('parcel')).toEqual(['Parcel Pat', 'Rosa', 'Quinn'])
    expect(await find('where parcel')).toEqual(['Quinn'])
    expect(await find('arcel')).toEqual([])
    const pages: unknown[] = []
    let after: Parameters<typeof findThreads>[2]['after']
    do {
      const asked = { q: 'parcel', limit: 1, ...(after && { after }) }
      const [first, next] = await findThreads(collections(), { workspace: other }, asked)
      pages.push(first?.user.name)
      after = first && next && (positionOf(first) as typeof after)
    } while (after !== undefined)
    expect(pages).toEqual(['Parcel Pat', 'Rosa', 'Quinn'])
  })

  test('names the newest message of each', async () => {
    const sam = await saidIn('Sam', 5, 'a receipt please')
    await saidIt(sam._id, 7, 'receipt again')
    await saidIt(sam._id, 6, 'receipts')
    const [found] = await findThreads(collections(), { workspace: other }, { q: 'receip', limit: 5 })
    expect(found?.found?.at).toEqual(new Date(7 * day))
  })

  test('is of the threads that may be read and are asked for, and of one workspace', async () => {
    await saidIn('Tom', 8, 'an umbrella', { channel: 'line' })
    await saidIn('Uma', 9, 'an umbrella', { channel: 'shop', labels: ['vip'] })
    expect(await find('umbrella')).toEqual(['Uma', 'Tom'])
    expect(await find('umbrella', {}, { channel: 'line' })).toEqual(['Tom'])
    expect(await find('umbrella', { label: 'vip' })).toEqual(['Uma'])
    expect(await search('umbrella')).toEqual([])
  })

  test('leads to the thread that one goes on in, once', async () => {
    const vera = await saidIn('Vera', 11, 'my bicycle')
    const earlier = await saidIn('', 10, 'the bicycle')
    const { channel, extId, _id } = earlier
    const mark = {
      _id,
      channel,
      extId,
      joinedInto: vera.extId,
      user: {},
      handler: 'assistant',
      lastMessage: '',
    }
    await collections().threads.replaceOne({ _id }, {
      ...mark,
      ...{ lastAt: new Date(8.64e15), unread: 0, expiresAt: new Date(4e12) },
    } as unknown as ThreadRecord)
    expect(await find('bicycle')).toEqual(['Vera'])
  })

  test('finds a person by any four digits of the number, and by fewer from its beginning', async () => {
    const addresses = ['phone:5521987654321']
    await saidIn('Will', 12, 'x', { addresses, phoneEnds: phoneEnds(addresses) })
    for (const q of ['4321', '(21) 98765-4321', '7654', '+55 21']) expect(await find(q)).toEqual(['Will'])
    expect(await find('321')).toEqual([])
    expect(await find('4322')).toEqual([])
  })
})

test('the list by default has those who wrote, by an index of their own', async () => {
  const { threads } = collectionsOf(connection)
  const visible = { workspace: 9 }
  await threads.insertMany([
    ...Array.from({ length: 500 }, (_, n) => threadAt('Notified', 1_000 + n, visible)),
    threadAt('Writer', 1, { ...visible, lastInboundAt: new Date(1_000) }),
    threadAt('Resolved', 2, {
      ...{ ...visible, lastInboundAt: new Date(2_000) },
      closed: { status: 'resolved', upTo: new Date(3_000) },
    }),
  ])
  const names = async (asked: object) => {
    const found = await findThreads(collectionsOf(connection), visible, { limit: 2, ...asked } as never)
    return found.map(({ user }) => user.name)
  }
  await connection.db?.dropCollection('system.profile').catch(() => undefined)
  expect(await names({ wrote: 'true', status: 'open' })).toEqual(['Writer'])
  expect(await names({ wrote: 'true' })).toEqual(['Resolved', 'Writer'])
  expect(await names({ wrote: 'true', status: 'resolved' })).toEqual(['Resolved'])
  expect(await examined()).toBeLessThan(10)
  expect(await names({ wrote: 'false' })).toEqual(Array(3).fill('Notified'))
})
