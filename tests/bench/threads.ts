// Measures a page of the list of threads with a thousand threads and with a million, by each filter; and a search in a
// million messages.
import { randomUUID } from 'node:crypto'
import { findThreads } from '@parley/dispatcher/api/threads/list-threads'
import type { MessageWords } from '@parley/dispatcher/message/message-record'
import { phoneEnds, searchWords } from '@parley/dispatcher/message/search-words'
import { type ThreadRecord, threadId } from '@parley/dispatcher/message/thread-record'
import { collectionsOf, prepareDatabase } from '@parley/dispatcher/store/collections'
import { startServers } from '@parley/local/servers/start-servers'
import { integer, parseConfig } from '@parley/shared/config'
import mongoose from 'mongoose'
import { z } from 'zod'
import { compare, median, quantile, report } from '../lab/report/results.ts'
import { inTemporaryState } from '../lab/system/own-system.ts'

const size = z.object({
  THREADS: integer({ min: 1_000, max: 5_000_000 })
    .default(1_000_000)
    .describe('Threads of the larger workspace'),
  MESSAGES: integer({ min: 10_000, max: 5_000_000 })
    .default(1_000_000)
    .describe('Messages of the larger workspace that are searched'),
  FEW: integer({ min: 200, max: 100_000 }).default(1_000).describe('Threads of the smaller one'),
  ROUNDS: integer({ min: 10, max: 10_000 }).default(200).describe('How often each page is read'),
})
const LIMIT = 50
const BATCH = 5_000
const WARM_UP = 20
const [SMALL, LARGE] = [1, 2]
const NAMESAKES = 20
const random = createRandom()
const START = Date.parse('2026-01-01T00:00:00Z')
const QUERIES = {
  'all of them': {},
  'of one channel': { channel: 'line-3' },
  'that a person has': { handler: 'person' },
  unread: { unread: 'true' },
  'by words of a name': { q: 'name7 an' },
  'that people wrote in': { wrote: 'true', status: 'open' },
} as const
/** The most frequent first. */
const VOCABULARY = Array.from({ length: 20_000 }, (_, n) => `w${n.toString(36)}x`)
const WORDS_EACH = 10
const SEARCHES = {
  'by a word that a third of them have': () => `${VOCABULARY[1]}`,
  'by one that a few hundred have': (round: number) => `${VOCABULARY[2_000 + (round % 500)]}`,
  'by two, of which many have each': (round: number) => `${VOCABULARY[2 + (round % 5)]} ${VOCABULARY[9]}`,
  'by a beginning that most have': () => 'w',
  'by four digits of a number': (round: number) => String(1_000 + ((round * 37) % 9_000)),
  'by words that none has': () => 'nothing of it',
} as const
const MAX_SEARCH_MS = 300

const { THREADS, FEW, ROUNDS, MESSAGES } = parseConfig(size, process.env)
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
  for (let at = 0; at < MESSAGES; at += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, MESSAGES - at) }, (_, n) => wordsAt(at + n))
    await messageWords.insertMany(batch, { ordered: false })
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
    const [few, many] = [median(times.few), median(times.many)]
    report({
      row: `page of ${LIMIT} of ${THREADS} threads, ${title}, speed beside ${FEW}`,
      ...{ parley: `${many.toFixed(2)} ms`, against: `${few.toFixed(2)} ms` },
      ...{ ...compare([few], [many]), reach: { least: 0.7 } },
    })
  }
  for (const [title, queryOf] of Object.entries(SEARCHES)) {
    const times: number[] = []
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      const time = await timeOf(LARGE, { q: queryOf(round + WARM_UP) })
      if (round >= 0) times.push(time)
    }
    const p99 = quantile(times, 0.99)
    report({
      row: `search in ${MESSAGES} messages of ${THREADS} threads, ${title}, p99 of ${ROUNDS}, of ${MAX_SEARCH_MS} ms`,
      parley: `p50 ${median(times).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
      against: `${MAX_SEARCH_MS} ms`,
      ratio: p99 / MAX_SEARCH_MS,
      reach: { most: 1 },
    })
  }
} finally {
  await system.stop()
}

/** Ten words by Zipf's law. */
function wordsAt(n: number): MessageWords {
  const thread = threadId({ workspace: LARGE, channel: `line-${n % 10}`, extId: `thread-${n % THREADS}` })
  const words = Array.from({ length: WORDS_EACH }, () => VOCABULARY[rankAt(random())] ?? '')
  const [at, expiresAt] = [new Date(START + n * 1_000), new Date(START + 10 * 365 * 24 * 3_600_000)]
  return { _id: randomUUID(), workspace: LARGE, thread, at, words: [...new Set(words)], expiresAt }
}

function rankAt(share: number): number {
  return Math.floor(VOCABULARY.length ** share) - 1
}

/** The same numbers from 0 to 1 in every run: mulberry32. */
function createRandom(): () => number {
  let state = 1
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** In every tenth the person wrote what is to be read, every twentieth is a person's; twenty have the same name. */
function threadAt({ workspace, count }: { workspace: number; count: number }, n: number): ThreadRecord {
  const person = `Ana Name${n % (count / NAMESAKES)}`
  const name = { workspace, channel: `line-${n % 10}`, extId: `thread-${n}` }
  const addresses = [`phone:55119${String(n).padStart(8, '0')}`]
  return {
    _id: threadId(name),
    ...name,
    user: { name: person, phone: `+${addresses[0]?.slice(6)}` },
    handler: n % 20 === 0 ? 'person' : 'assistant',
    lastMessage: 'Where is my order?',
    lastAt: new Date(START + n * 1_000),
    unread: n % 10 === 0 ? 1 : 0,
    addresses,
    phoneEnds: phoneEnds(addresses),
    ...(n % 10 === 0 && { lastInboundAt: new Date(START + n * 1_000) }),
    words: searchWords(person),
    expiresAt: new Date(START + 10 * 365 * 24 * 3_600_000),
  }
}
