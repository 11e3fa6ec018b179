import { BlockList } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { listen } from '@parley/local/testing/service-under-test'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { defined } from '@parley/shared/defined'
import { createLog } from '@parley/shared/log'
import { connectMongo, type MongoConnection } from '@parley/shared/mongo'
import { rpc } from '@parley/shared/providers/rpc/rpc'
import { whatsapp } from '@parley/shared/providers/whatsapp/whatsapp'
import mongoose from 'mongoose'
import type { Callback } from '../../src/channels/callback.ts'
import { createHttpClient } from '../../src/channels/http/http-client.ts'
import { createProviderCallback } from '../../src/channels/provider-callback.ts'
import { createDeliverMessage } from '../../src/deliver/deliver-message.ts'
import type { DeliverOptions } from '../../src/deliver/message-run.ts'
import type { RunResult } from '../../src/deliver/thread-run.ts'
import { createIntakeStore } from '../../src/intake/intake-store.ts'
import { createWriteBehind, type WriteBehind } from '../../src/intake/write-behind.ts'
import type { MessageRecord } from '../../src/message/message-record.ts'
import { type Collections, collectionsOf, prepareDatabase } from '../../src/store/collections.ts'
import { createCommitter } from '../../src/store/commit.ts'
import { RecentlyStored } from '../../src/store/recently-stored.ts'
import { deliveryOptions } from '../delivery-options.ts'
import { newRecord } from '../new-record.ts'
import { noThreadLog } from '../no-threads.ts'
import { noTraffic } from '../no-traffic.ts'

const APP = 'interrupted-store'
const log = createLog({ service: 'test', level: 'silent' })
const body = JSON.stringify({ extId: 'c', user: { phone: '1' }, thread: {}, answer: { message: 'hi' } })
let database: MongoConnection
let admin: mongoose.mongo.MongoClient
let messages: Collections['messages']

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  const url = new URL(mongoUrl)
  url.searchParams.set('appName', APP)
  // The driver asks a server that shut down again at this interval.
  url.searchParams.set('heartbeatFrequencyMS', '500')
  database = connectMongo({
    url: url.href,
    database: freshDatabase('dispatcher'),
    log,
    prepare: (connection) => prepareDatabase(connection, 1),
  })
  await database.ready
  messages = collectionsOf(database.connection).messages
  admin = await mongoose.mongo.MongoClient.connect(mongoUrl)
})
const open: WriteBehind[] = []
afterEach(async () => {
  await failCommands('off')
  for (const one of open.splice(0)) one.abandon()
})
afterAll(async () => {
  await releaseDatabase(database.connection.db)
  await database.close()
  await admin.close()
})

/** MongoDB's own fail point, for the connections of this test alone. */
function failCommands(mode: 'off' | { times: number }, data: Record<string, unknown> = {}) {
  return admin.db('admin').command({
    configureFailPoint: 'failCommand',
    mode,
    data: { ...data, failCommands: data.failCommands ?? ['update'], appName: APP },
  })
}

/** An instance that runs messages; `isLeased` says whether its lease is valid. */
function startInstance(options: {
  term: number
  isLeased?: () => boolean
  deliver?: () => void
  channels?: DeliverOptions['channels']
  callback?: Callback
}) {
  const { term, isLeased = () => true, deliver = () => {}, channels } = options
  const committer = createCommitter(messages, 'i')
  const writeBehind = createWriteBehind({
    writer: `i/${term}`,
    isLeased,
    committer,
    threadLog: noThreadLog,
    traffic: noTraffic,
    store: createIntakeStore({ messages, recentlyStored: new RecentlyStored(), log }),
  })
  open.push(writeBehind)
  const delivering: Callback = {
    reports: true,
    deliver: async () => {
      deliver()
      return { kind: 'accepted', providerId: 'p', delivered: false }
    },
  }
  const read = (_id: string) => messages.findOne({ _id })
  const own = { read, ...defined({ channels }) }
  const run = createDeliverMessage(deliveryOptions(options.callback ?? delivering, own))
  return {
    writeBehind,
    run: (record: MessageRecord): Promise<RunResult> => run(record, writeBehind, (call) => call()),
  }
}

const stored = async (_id: string) => (await messages.findOne({ _id })) as MessageRecord

describe('a message', () => {
  test.each([11602, 10107, 13435, 189, 91, 11600])(
    'is sent once and is neither tried in vain nor dead when MongoDB answers its writes with code %i',
    async (errorCode) => {
      const _id = `code-${errorCode}`
      let sent = 0
      const { run } = startInstance({ term: 1, deliver: () => sent++ })
      await messages.insertOne(newRecord({ _id, body }))
      await failCommands({ times: 3 }, { errorCode })
      expect(await run(await stored(_id))).toEqual({ kind: 'closed' })
      expect(await stored(_id)).toMatchObject({
        state: 'sent',
        tries: 0,
        attempts: [{ outcome: 'accepted' }],
      })
      expect(sent).toBe(1)
    },
  )

  test('is sent once when its writes reach no majority in time', async () => {
    let sent = 0
    const { run } = startInstance({ term: 1, deliver: () => sent++ })
    await messages.insertOne(newRecord({ _id: 'concern', body }))
    await failCommands({ times: 2 }, { writeConcernError: { code: 64, errmsg: 'not in time' } })
    expect(await run(await stored('concern'))).toEqual({ kind: 'closed' })
    expect(await stored('concern')).toMatchObject({ state: 'sent', tries: 0 })
    expect(sent).toBe(1)
  })
})

describe('a claim under which nothing has left is taken back', () => {
  test('when the lease ends while it is written, and the next owner sends at once', async () => {
    const sent: number[] = []
    let isLeased = true
    const commits = { left: 1 }
    const first = startInstance({ term: 1, isLeased: () => isLeased, deliver: () => sent.push(1) })
    await messages.insertOne(newRecord({ _id: 'lost', body }))
    const record = await stored('lost')
    // The claim reaches the store, and its answer comes after the lease.
    await failCommands({ times: commits.left }, { blockConnection: true, blockTimeMS: 300 })
    const running = first.run(record)
    isLeased = await new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 100))
    expect((await running).kind).toBe('reload')
    expect(await stored('lost')).toMatchObject({ state: 'sending', sends: [{ state: 'pending' }] })
    const second = startInstance({ term: 2, deliver: () => sent.push(2) })
    expect(await second.run(await stored('lost'))).toEqual({ kind: 'closed' })
    expect(sent).toEqual([2])
  })

  test.each(['rpc', 'whatsapp'] as const)(
    'when the lease ends while its connection is opened, and nothing leaves (%s)',
    async (kind) => {
      let isLeased = true
      let reached = 0
      const endpoint = await listen((_req, res) => {
        reached++
        res.end()
      })
      const allowed = new BlockList()
      allowed.addAddress('127.0.0.1')
      const http = createHttpClient({
        allowed,
        lookup: (_name, _options, done) => {
          isLeased = false
          done(null, [{ address: '127.0.0.1', family: 4 }])
        },
      })
      const url = `http://endpoint.example:${new URL(endpoint.url).port}`
      const config = { callbackUrl: `${url}/`, phoneNumberId: '1', accessToken: 'token', apiUrl: url }
      const channel = {
        _id: 1,
        hook: 'rpc',
        callback: kind,
        handlerUrl: 'native:agents/echo',
        config,
      } as const
      const channels = { find: async (workspace: number) => ({ ...channel, workspace }) }
      const signer = { headers: () => ({}) }
      const { deliver } = createProviderCallback(kind === 'rpc' ? rpc : whatsapp, {
        ...{ http, signer },
        numberRates: { perSecond: () => 80 },
        learnPerson: async () => {},
      })
      const callback = { reports: true, deliver }
      const { run } = startInstance({ term: 1, isLeased: () => isLeased, channels, callback })
      await messages.insertOne(newRecord({ _id: `connecting-${kind}`, body }))
      expect((await run(await stored(`connecting-${kind}`))).kind).toBe('reload')
      expect(await stored(`connecting-${kind}`)).toMatchObject({ sends: [{ state: 'pending' }] })
      expect(reached).toBe(0)
      http.close()
      await endpoint.close()
    },
  )

  test('when the answer to it never came, once the store can be reached', async () => {
    let isLeased = true
    let sent = 0
    const first = startInstance({ term: 1, isLeased: () => isLeased, deliver: () => sent++ })
    await messages.insertOne(newRecord({ _id: 'unknown', body }))
    const record = await stored('unknown')
    // Written, and reported as not confirmed.
    await failCommands({ times: 1 }, { writeConcernError: { code: 64, errmsg: 'not in time' } })
    const running = first.run(record)
    for (;;) {
      if ((await stored('unknown')).sends[0]?.state === 'claimed') break
    }
    isLeased = false
    expect((await running).kind).toBe('reload')
    expect(await stored('unknown')).toMatchObject({ sends: [{ state: 'pending' }] })
    expect(sent).toBe(0)
  })

  test('but never one that somebody else has made', async () => {
    const { writeBehind } = startInstance({ term: 1, deliver: () => {} })
    const base = newRecord({ _id: 'theirs', body })
    const send = { id: 'theirs:0', content: { kind: 'text' as const, text: 'hi' }, state: 'claimed' as const }
    const theirs = { ...base, revision: 1, writer: 'i/2', sends: [send] }
    await messages.insertOne(theirs)
    await writeBehind.release(base, [0])
    expect(await stored('theirs')).toEqual(theirs)
  })
})
