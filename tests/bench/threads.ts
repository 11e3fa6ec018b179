// What a page of the list of threads costs with a thousand threads and with a million, by each filter.
import { randomUUID } from 'node:crypto'
import { findThreads } from '@parley/dispatcher/api/threads/list-threads'
import { searchWords } from '@parley/dispatcher/message/search-words'
import { type ThreadRecord, threadId } from '@parley/dispatcher/message/thread-record'
import { collectionsOf, prepareDatabase } from '@parley/dispatcher/store/collections'
import { startServers } from '@parley/local/servers/start-servers'
import { integer, parseConfig } from '@parley/shared/config'
import mongoose from 'mongoose'
import { z } from 'zod'
import { inTemporaryState } from '../dispatch/temporary-state.ts'
import { compare, median, report } from './results.ts'

const size = z.object({
  THREADS: integer({ min: 1_000, max: 5_000_000 })
    .default(1_000_000)
    .describe('Threads of the larger workspace'),
  FEW: integer({ min: 200, max: 100_000 }).default(1_000).describe('Threads of the smaller one'),
  ROUNDS: integer({ min: 10, max: 10_000 }).default(200).describe('How often each page is read'),
})
const LIMIT = 50
const BATCH = 5_000
const WARM_UP = 20
const [SMALL, LARGE] = [1, 2]
const NAMESAKES = 20
const START = Date.parse('2026-01-01T00:00:00Z')
const QUERIES = {
  'all of them': {},
  'of one channel': { channel: 'line-3' },
  'that a person has': { handler: 'person' },
  unread: { unread: 'true' },
  'by words of a name': { q: 'name7 an' },
} as const

const { THREADS, FEW, ROUNDS } = parseConfig(size, process.env)
const system = await inTemporaryState('bench', async ({ directory, stopLater }) => {
  const servers = await startServers({ directory, say: console.error })
  stopLater(servers.stop)
  const dbName = `bench_threads_${randomUUID().slice(0, 8)}`
  const connection = await mongoose.createConnection(servers.mongo.url, { dbName }).asPromise()
  stopLater(() => connection.close())
  stopLater(() => connection.dropDatabase())
  await prepareDatabase(connection, 1)
  const { threads, messages, messageWords } = collectionsOf(connection)
  for (const [workspace, count] of [
    [SMALL, FEW],
    [LARGE, THREADS],
  ] as const)
    for (let at = 0; at < count; at += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, count - at) }, (_, n) =>
        threadAt({ workspace, count }, at + n),
      )
      await threads.insertMany(batch, { ordered: false })
    }
  return { threads, messages, messageWords }
})
try {
  const timeOf = async (workspace: number, query: object) => {
    const began = performance.now()
    await findThreads(system, { workspace }, { limit: LIMIT, ...query } as Parameters<typeof findThreads>[2])
    return performance.now() - began
  }
  for (const [title, query] of Object.entries(QUERIES)) {
    const times = { few: [] as number[], many: [] as number[] }
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      const [few, many] = [await timeOf(SMALL, query), await timeOf(LARGE, query)]
      if (round < 0) continue
      times.few.push(few)
      times.many.push(many)
    }
    const medians = { few: [median(times.few)], many: [median(times.many)] }
    report({
      row: `page of ${LIMIT} of ${THREADS} threads, ${title}, speed beside ${FEW}`,
      parley: `${median(times.many).toFixed(2)} ms`,
      against: `${median(times.few).toFixed(2)} ms`,
      ...compare(medians.few, medians.many),
      reach: { least: 0.7 },
    })
  }
} finally {
  await system.stop()
}

/** Every tenth has something to read, every twentieth is a person's; twenty have the same name. */
function threadAt({ workspace, count }: { workspace: number; count: number }, n: number): ThreadRecord {
  const person = `Ana Name${n % (count / NAMESAKES)}`
  const name = { workspace, channel: `line-${n % 10}`, extId: `thread-${n}` }
  return {
    _id: threadId(name),
    ...name,
    user: { name: person, phone: `+55${n}` },
    handler: n % 20 === 0 ? 'person' : 'assistant',
    lastMessage: 'Where is my order?',
    lastAt: new Date(START + n * 1_000),
    unread: n % 10 === 0 ? 1 : 0,
    phone: `55${n}`,
    words: searchWords(person),
    expiresAt: new Date(START + 10 * 365 * 24 * 3_600_000),
  }
}
