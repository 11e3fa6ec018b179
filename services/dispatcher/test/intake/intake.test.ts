import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { RunResult } from '@parley/dispatcher/deliver/thread-run'
import { createIntake, type Intake } from '@parley/dispatcher/intake/intake'
import { createIntakeStore } from '@parley/dispatcher/intake/intake-store'
import { storeDeliveries } from '@parley/dispatcher/intake/store-deliveries'
import { createWriteBehind, type WriteBehind } from '@parley/dispatcher/intake/write-behind'
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
import { newRecord } from '../new-record.ts'
import { noConsent } from '../no-consent.ts'
import { noNonSpeech, noThreadLog } from '../no-threads.ts'
import { noTraffic } from '../no-traffic.ts'

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

/** Runs a message and returns the result. */
type Run = (record: MessageRecord, writeBehind: WriteBehind) => Promise<RunResult>

const open: Array<{ intake: Intake; writeBehind: WriteBehind; threads: Threads }> = []
afterEach(async () => {
  for (const { intake, writeBehind, threads } of open.splice(0)) {
    await threads.stop()
    intake.close()
    writeBehind.abandon()
  }
})

/** A partition that runs what arrives; a test says what running does, and until when the lease holds. */
function startPartition(run: Run, { term = 1, isLeased = (): boolean => true } = {}) {
  const ran: string[] = []
  const warnings: string[] = []
  const log = createLog({ service: 'test', level: 'silent' })
  log.warn = (_facts: unknown, warning?: string) => void warnings.push(String(warning))
  const store = createIntakeStore({
    messages: collections.messages,
    recentlyStored: new RecentlyStored(),
    log,
  })
  const threads: Threads = createThreads({
    load: (ref, limit) => store.open({ ...ref, partition: 0 }, limit),
    run: async (record) => {
      const result = await run(record, writeBehind)
      if (result.kind === 'closed') ran.push(record._id)
      return result
    },
    concurrency: 4,
  })
  const committer = createCommitter(collections.messages, 'us')
  const writeBehind = createWriteBehind({
    writer: 'us',
    isLeased,
    store,
    committer,
    threadLog: noThreadLog,
    traffic: noTraffic,
  })
  const intake = createIntake({
    partition: 0,
    repeatsUntil: undefined,
    isLeased,
    store,
    writeBehind,
    log,
    threads,
    firstSequenceNumber: term * 1_000,
    nonSpeech: noNonSpeech,
    heed: noConsent.heed,
    storeFirst: storeDeliveries({
      partition: 0,
      collections,
      isLeased,
      threadLog: noThreadLog,
      traffic: noTraffic,
    }),
  })
  threads.on('room', () => threads.complete())
  threads.complete()
  open.push({ intake, writeBehind, threads })
  const take = (id: string, options: { thread?: string; redelivered?: boolean } = {}) =>
    intake.take(delivery(id, options))
  return { ran, warnings, threads, intake, writeBehind, take }
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
const finish: Run = async (record, writeBehind) => {
  await writeBehind.commit(record, progress(record, { state: 'done' }), { deferrable: true })
  return { kind: 'closed' }
}
const isStored = async (id: string) => (await messages.findOne({ _id: id })) !== null
const stored = async () => (await messages.find().sort({ order: 1 }).toArray()).map(({ _id }) => _id)

describe('a message', () => {
  test('that ends at once is written in one insert, and only then acked', async () => {
    const { take } = startPartition(async (record, writeBehind) => {
      const begun = await writeBehind.commit(record, progress(record, { state: 'sending', open: true }), {
        deferrable: true,
      })
      expect(await isStored(record._id)).toBe(false)
      return finish(begun ?? record, writeBehind)
    })
    await take('whole')
    expect(await messages.findOne({ _id: 'whole' })).toMatchObject({
      state: 'done',
      revision: 2,
    })
    expect((await messages.findOne({ _id: 'whole' }))?.open).toBeUndefined()
  })

  test('is in the store before what must not happen without it', async () => {
    const { take } = startPartition(async (record, writeBehind) => {
      const claimed = await writeBehind.commit(record, progress(record, { state: 'sending', open: true }))
      expect(await messages.findOne({ _id: record._id })).toMatchObject({ state: 'sending', revision: 1 })
      return finish(claimed ?? record, writeBehind)
    })
    await take('claimed')
    await eventually(async () => (await messages.findOne({ _id: 'claimed' }))?.state === 'done')
  })

  test('that takes long is stored and acked meanwhile, and its end is written to it', async () => {
    const gate = Promise.withResolvers<void>()
    const { take } = startPartition(async (record, writeBehind) => {
      await gate.promise
      return finish(record, writeBehind)
    })
    await Promise.all([take('long'), take('behind it')])
    expect(await stored()).toEqual(['long', 'behind it'])
    gate.resolve()
    await eventually(async () => (await messages.countDocuments({ open: true })) === 0)
  })

  test.each([
    ['is delivered again', { redelivered: true }],
    ['comes twice', {}],
  ])('that %s while it runs, runs once', async (_how, again) => {
    const gate = Promise.withResolvers<void>()
    const runs = Promise.withResolvers<void>()
    const { ran, take } = startPartition(async (record, writeBehind) => {
      runs.resolve()
      await gate.promise
      return finish(record, writeBehind)
    })
    const first = take('twice')
    await runs.promise
    const second = take('twice', again)
    gate.resolve()
    await Promise.all([first, second])
    expect(ran).toEqual(['twice'])
  })

  test('that comes again in one batch with a repeat of it is claimed in the store, once', async () => {
    const claims: Array<[id: string, stored: string | undefined]> = []
    const { take } = startPartition(async (record, writeBehind) => {
      const claimed = await writeBehind.commit(record, progress(record, { state: 'sending', open: true }))
      if (claimed === undefined) return { kind: 'reload', at: Date.now() }
      claims.push([record._id, (await messages.findOne({ _id: record._id }))?.state])
      return finish(claimed, writeBehind)
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
    await Promise.all([take('ended'), take('ended', { redelivered: true })])
    await take('next')
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
    const { ran, take } = startPartition(async (record, writeBehind) => {
      if (record._id !== 'head' || waits++ > 0) return finish(record, writeBehind)
      const due = new Date(Date.now() + 50)
      const waiting = await writeBehind.commit(record, progress(record, { open: true, due }))
      return { kind: 'wait', record: waiting ?? record, until: due.getTime() }
    })
    await Promise.all(['head', 'second', 'third'].map((id) => take(id)))
    await Promise.all(['fourth', 'fifth'].map((id) => take(id)))
    await eventually(() => ran.length === 5)
    expect(ran).toEqual(['head', 'second', 'third', 'fourth', 'fifth'])
  })

  test.each([
    ['comes when the thread is to be read from the store', false],
    ['may be in the store already', true],
  ])('are in the store before one behind them that %s', async (_why, redelivered) => {
    const gate = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    const { ran, take, threads, writeBehind } = startPartition(async (record, own) => {
      await own.ensureStored(record)
      began.resolve()
      await gate.promise
      return finish(record, own)
    })
    const head = take('head')
    await began.promise
    const second = take('second')
    await eventually(() => writeBehind.resultOf('second') !== undefined)
    if (!redelivered) threads.wake({ workspace: 1, thread: 't' })
    const third = take('third', { redelivered })
    await eventually(() => isStored('third'))
    const storedWithIt = await stored()
    gate.resolve()
    await Promise.all([head, second, third])
    expect(storedWithIt).toEqual(['head', 'second', 'third'])
    await eventually(() => ran.length === 3)
    expect(ran).toEqual(['head', 'second', 'third'])
  })

  test('run in order, each once, while the database comes and goes', async () => {
    let waits = 0
    const { ran, take } = startPartition(async (record, writeBehind) => {
      if (++waits % 3 > 0) return finish(record, writeBehind)
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
  test('are looked up again together: none waits for those before it to be tried once more', async () => {
    const { ran, warnings, take } = startPartition(finish)
    const ids = Array.from({ length: 20 }, (_, n) => `during-${n}`)
    proxy.cut()
    const taken = ids.map((id) => take(id))
    await eventually(() => warnings.length > 0)
    proxy.mend()
    const earlier = warnings.length
    await Promise.all(taken)
    expect(ran).toEqual(ids)
    // The driver may need a moment to find it again.
    expect(warnings.length - earlier).toBeLessThan(5)
  })
})

describe('what is not stored when the lease ends', () => {
  test('is left to the next owner of the lease, and nothing of it is written any more', async () => {
    let isLeased = true
    const gate = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    const { take, intake, writeBehind } = startPartition(
      async (record) => {
        began.resolve()
        await gate.promise
        return finish(record, writeBehind)
      },
      { isLeased: () => isLeased },
    )
    const left = take('left')
    await began.promise
    isLeased = false
    intake.close()
    writeBehind.abandon()
    gate.resolve()
    await expect(left).rejects.toThrow('left to the next owner')
    expect(await messages.countDocuments({})).toBe(0)
  })

  test('is stored on a hand-over as far as it has begun, and left where it has not', async () => {
    const gate = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    const { take, intake, writeBehind, threads } = startPartition(async (record, own) => {
      began.resolve()
      await gate.promise
      return finish(record, own)
    })
    const begun = take('begun', { thread: 'a' })
    const behind = take('behind', { thread: 'a' })
    await began.promise
    const stopped = threads.stop()
    gate.resolve()
    await stopped
    intake.close()
    await writeBehind.close()
    await begun
    await expect(behind).rejects.toThrow('left to the next owner')
    expect(await stored()).toEqual(['begun'])
  })
})
