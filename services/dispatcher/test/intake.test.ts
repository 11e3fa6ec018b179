import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { RunResult } from '@parley/dispatcher/deliver/thread-run'
import { createIntake, type Intake } from '@parley/dispatcher/intake/intake'
import { createIntakeStore } from '@parley/dispatcher/intake/intake-store'
import { createPartitionMessages, type PartitionMessages } from '@parley/dispatcher/intake/leased-messages'
import { storeDeliveries } from '@parley/dispatcher/intake/store-deliveries'
import type { MessageRecord, Progress } from '@parley/dispatcher/message/message-record'
import { createThreads, type Threads } from '@parley/dispatcher/schedule/threads'
import { type Collections, collectionsOf, prepareDatabase } from '@parley/dispatcher/store/collections'
import { createCommitter } from '@parley/dispatcher/store/commit'
import { RecentlyStored } from '@parley/dispatcher/store/recently-stored'
import { eventually } from '@parley/local/testing/service-under-test'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { TEST_LAYOUT } from '@parley/local/testing/test-layout'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { MESSAGE_TYPE } from '@parley/shared/message'
import { connectMongo, type MongoConnection } from '@parley/shared/mongo'
import type { ConsumeMessage } from 'amqplib'
import { newRecord } from './new-record.ts'
import { noNonSpeech, noThreadLog } from './no-threads.ts'
import { noTraffic } from './no-traffic.ts'

const log = createLog({ service: 'test', level: 'silent' })
let proxy: TcpProxy
let database: MongoConnection
let direct: MongoConnection
/** As the partitions see it: over a line that a test cuts. */
let collections: Collections
let messages: Collections['messages']

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  const { hostname, port } = new URL(mongoUrl)
  proxy = await startTcpProxy({ host: hostname, port: Number(port) })
  const name = freshDatabase('dispatcher')
  const connected = async (url: string) => {
    const connection = connectMongo({
      url,
      database: name,
      log,
      prepare: (connection) => prepareDatabase(connection, TEST_LAYOUT.partitions),
    })
    await connection.ready
    return connection
  }
  direct = await connected(mongoUrl)
  database = await connected(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`)
  collections = collectionsOf(database.connection)
  messages = collectionsOf(direct.connection).messages
})
beforeEach(() => messages.deleteMany({}))
afterAll(async () => {
  await releaseDatabase(direct.connection.db)
  await Promise.all([direct.close(), database.close()])
  await proxy.close()
})

/** What a run does with its message. */
type Run = (record: MessageRecord, leased: PartitionMessages) => Promise<RunResult>

const open: Array<{ intake: Intake; leased: PartitionMessages; threads: Threads }> = []
afterEach(async () => {
  for (const { intake, leased, threads } of open.splice(0)) {
    await threads.stop()
    intake.close()
    leased.end()
  }
})

/** A partition that runs what arrives; a test says what running does, and until when the lease holds. */
function startPartition(run: Run, { term = 1, isLeased = (): boolean => true } = {}) {
  const ran: string[] = []
  const warnings: string[] = []
  const log = createLog({ service: 'test', level: 'silent' })
  log.warn = (_facts: unknown, warning?: string) => void warnings.push(String(warning))
  const store = createIntakeStore({ messages: collections.messages, recentlyStored: new RecentlyStored() })
  const threads: Threads = createThreads({
    load: (ref, limit) => store.open({ ...ref, partition: 0 }, limit),
    run: async (record) => {
      const result = await run(record, leased)
      if (result.kind === 'closed') ran.push(record._id)
      return result
    },
    concurrency: 4,
  })
  const committer = createCommitter(collections.messages, 'us')
  const leased = createPartitionMessages({ writer: 'us', isLeased, committer, threadLog: noThreadLog })
  const intake = createIntake({
    partition: 0,
    repeatsUntil: undefined,
    isLeased,
    log,
    threads,
    firstSequenceNumber: term * 1_000,
    nonSpeech: noNonSpeech,
    store: storeDeliveries({
      partition: 0,
      store,
      collections,
      isLeased,
      threadLog: noThreadLog,
      traffic: noTraffic,
    }),
  })
  threads.on('room', () => threads.complete())
  threads.complete()
  open.push({ intake, leased, threads })
  const take = (id: string, options: { thread?: string; redelivered?: boolean } = {}) =>
    intake.take(delivery(id, options))
  return { ran, warnings, threads, intake, leased, take }
}

function delivery(messageId: string, { thread = 't', redelivered = false } = {}): ConsumeMessage {
  return {
    content: Buffer.from(JSON.stringify({ extId: 'c', user: {}, thread: {}, answer: {} })),
    fields: { redelivered },
    properties: {
      messageId,
      type: MESSAGE_TYPE,
      headers: { workspace: 1, channel: 'c', thread, source: 'api' },
    },
  } as unknown as ConsumeMessage
}

const progress = (record: MessageRecord, change: Partial<Progress>): Progress => {
  const { state, tries, sends, timeline, attempts } = record
  return { state, tries, sends, timeline, attempts, ...change }
}
const finish: Run = async (record, leased) => {
  await leased.commit(record, progress(record, { state: 'done' }))
  return { kind: 'closed' }
}
const isStored = async (id: string) => (await messages.findOne({ _id: id })) !== null
const stored = async () => (await messages.find().sort({ order: 1 }).toArray()).map(({ _id }) => _id)

describe('a message', () => {
  test('is in the store before it runs, and acked while it runs', async () => {
    const gate = Promise.withResolvers<void>()
    const { ran, take } = startPartition(async (record, leased) => {
      expect(await isStored(record._id)).toBe(true)
      await gate.promise
      return finish(record, leased)
    })
    await Promise.all([take('first'), take('behind it')])
    expect([await stored(), ran]).toEqual([['first', 'behind it'], []])
    gate.resolve()
    await eventually(async () => (await messages.countDocuments({ open: true })) === 0)
  })

  test.each([
    ['is delivered again', { redelivered: true }],
    ['comes twice', {}],
  ])('that %s while it runs, runs once', async (_how, again) => {
    const gate = Promise.withResolvers<void>()
    const runs = Promise.withResolvers<void>()
    const { ran, take } = startPartition(async (record, leased) => {
      runs.resolve()
      await gate.promise
      return finish(record, leased)
    })
    const first = take('twice')
    await runs.promise
    const second = take('twice', again)
    await Promise.all([first, second])
    gate.resolve()
    await eventually(() => ran.length > 0)
    await take('after')
    await eventually(() => ran.length > 1)
    expect(ran).toEqual(['twice', 'after'])
  })

  test('that comes again in one batch with a repeat of it is claimed in the store, once', async () => {
    const claims: Array<[id: string, stored: string | undefined]> = []
    const { take } = startPartition(async (record, leased) => {
      const claimed = await leased.commit(record, progress(record, { state: 'sending', open: true }))
      if (claimed === undefined) return { kind: 'reload', at: Date.now() }
      claims.push([record._id, (await messages.findOne({ _id: record._id }))?.state])
      return finish(claimed, leased)
    })
    await Promise.all([take('before'), take('doubled', { redelivered: true }), take('doubled')])
    await take('after')
    await eventually(() => claims.length >= 3)
    expect(claims.toSorted()).toEqual([
      ['after', 'sending'],
      ['before', 'sending'],
      ['doubled', 'sending'],
    ])
  })

  test('that has ended is not run again, whoever sends it once more', async () => {
    const { ran, take } = startPartition(finish)
    await take('ended')
    await eventually(() => ran.length === 1)
    await Promise.all([take('ended'), take('ended', { redelivered: true })])
    await take('next')
    await eventually(() => ran.length === 2)
    expect(ran).toEqual(['ended', 'next'])
  })
})

describe('the messages of a thread', () => {
  test('of which an earlier owner of the lease has just stored the first run in order', async () => {
    const { ran, take } = startPartition(finish, { term: 2 })
    await messages.insertOne(newRecord({ _id: 'first', order: 1, revision: 0 }))
    await Promise.all([take('first', { redelivered: true }), take('second'), take('third')])
    await eventually(() => ran.length === 3)
    expect(ran).toEqual(['first', 'second', 'third'])
  })

  test('whose head has to wait are stored, and run in order after it', async () => {
    let waits = 0
    const { ran, take } = startPartition(async (record, leased) => {
      if (record._id !== 'head' || waits++ > 0) return finish(record, leased)
      const due = new Date(Date.now() + 50)
      const waiting = await leased.commit(record, progress(record, { open: true, due }))
      return { kind: 'wait', record: waiting ?? record, until: due.getTime() }
    })
    await Promise.all(['head', 'second', 'third'].map((id) => take(id)))
    await Promise.all(['fourth', 'fifth'].map((id) => take(id)))
    await eventually(() => ran.length === 5)
    expect(ran).toEqual(['head', 'second', 'third', 'fourth', 'fifth'])
  })

  test('run in order, each once, while the database comes and goes', async () => {
    let waits = 0
    const { ran, take } = startPartition(async (record, leased) => {
      if (++waits % 3 > 0) return finish(record, leased)
      return { kind: 'reload', at: Date.now() + 20 }
    })
    const ids = Array.from({ length: 60 }, (_, n) => `m-${String(n).padStart(2, '0')}`)
    const taken: Array<Promise<unknown>> = []
    for (const [at, id] of ids.entries()) {
      taken.push(take(id, { thread: `t-${at % 3}` }))
      if (at % 10 === 5) {
        proxy.cut()
        setTimeout(proxy.mend, 20)
      }
      if (at % 7 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(taken)
    await eventually(() => ran.length === ids.length)
    expect(await messages.countDocuments({ open: { $exists: false } })).toBe(ids.length)
    expect(ran.toSorted()).toEqual(ids)
    for (const thread of [0, 1, 2]) {
      const own = ids.filter((_id, at) => at % 3 === thread)
      expect(ran.filter((id) => own.includes(id))).toEqual(own)
    }
  })
})

describe('messages that arrive while the database is unavailable', () => {
  test('are stored together once it is back: none waits for those before it to be tried once more', async () => {
    const { ran, warnings, take } = startPartition(finish)
    const ids = Array.from({ length: 20 }, (_, n) => `during-${n}`)
    proxy.cut()
    const taken = ids.map((id) => take(id))
    await eventually(() => warnings.length > 0)
    proxy.mend()
    const earlier = warnings.length
    await Promise.all(taken)
    await eventually(() => ran.length === ids.length)
    expect(ran).toEqual(ids)
    // The driver may need a moment to find it again.
    expect(warnings.length - earlier).toBeLessThan(5)
  })
})

test('what is not stored when the lease ends is left to the next owner of the lease, and nothing of it is written', async () => {
  let isLeased = true
  const { ran, take, intake } = startPartition(finish, { isLeased: () => isLeased })
  const left = [take('left'), take('behind it')]
  isLeased = false
  intake.close()
  const ends = await Promise.allSettled(left)
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect([await messages.countDocuments({}), ran]).toEqual([0, []])
})
