import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { giveToAssistant, giveToPerson } from '@parley/dispatcher/conversations/take-over'
import { writeThreads } from '@parley/dispatcher/conversations/write-threads'
import { shardOf } from '@parley/dispatcher/message/delivery'
import type { MessageRecord } from '@parley/dispatcher/message/message-record'
import { publicId, type ThreadRecord, threadId } from '@parley/dispatcher/message/thread-record'
import { createInsertDeliveries } from '@parley/dispatcher/outgoing/insert-deliveries'
import { relayMessages } from '@parley/dispatcher/outgoing/message-relay'
import type { Subscription } from '@parley/dispatcher/outgoing/subscriptions'
import { THREAD_WRITES, threadWriteOf } from '@parley/dispatcher/outgoing/thread-deliveries'
import type { Collections } from '@parley/dispatcher/store/collections'
import {
  type EventCollections,
  eventCollectionsOf,
  prepareEvents,
} from '@parley/dispatcher/store/event-collections'
import { eventually } from '@parley/local/testing/service-under-test'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import type { Relay } from '@parley/shared/relay/relay'
import mongoose, { type Connection, type mongo } from 'mongoose'
import { newRecord } from '../new-record.ts'

const log = createLog({ service: 'test', level: 'silent' })
let connection: Connection
let collections: EventCollections
let messages: mongo.Collection<MessageRecord>
let threads: mongo.Collection<ThreadRecord>
let relay: Relay | undefined

beforeEach(async () => {
  const { mongoUrl } = await testServers()
  connection = await mongoose.createConnection(mongoUrl, { dbName: freshDatabase('relay') }).asPromise()
  await prepareEvents(connection)
  collections = eventCollectionsOf(connection)
  messages = connection.collection<MessageRecord>('messages') as unknown as typeof messages
  threads = connection.collection<ThreadRecord>('threads') as unknown as typeof threads
  for (const name of ['messages', 'threads']) await connection.createCollection(name)
})
afterEach(async () => {
  await relay?.close()
  relay = undefined
  if (connection.db) await releaseDatabase(connection.db)
  await connection.close()
})

const subscription = (change: Partial<Subscription> = {}): Subscription => ({
  ...{ key: '1/1/0', shard: shardOf('1/1/0'), workspace: 1, _id: 1, name: '', url: '' },
  ...{ events: new Set(['message.received', 'message.dead']), signingSecret: '', account: 1 },
  ...{ activeSince: 0, isMarked: false, isMarkedFull: false, isFull: false, ...change },
})

const idOf = ({ _id }: { _id: string }) => ({ _id })

function start(subscriptions: () => Subscription[], insert = realInsert()): Relay {
  relay = relayMessages({
    ...{ messages, threads, collections, insert, log },
    db: () => connection.db as mongo.Db,
    ready: Promise.resolve(),
    subscriptions: {
      ready: Promise.resolve(),
      all: subscriptions,
      of: (workspace) => subscriptions().filter((one) => one.workspace === workspace),
      refresh: async () => undefined,
      close: async () => undefined,
    },
    views: { detailOf: idOf, summaryOf: idOf, threadOf: idOf },
    extIdOf: async () => 'c',
  })
  return relay
}

const realInsert = () => createInsertDeliveries({ collections, retentionMs: 3_600_000, now: Date.now })
const message = (_id: string, at: Date, change: Partial<MessageRecord> = {}) =>
  newRecord({ _id, receivedAt: at, updatedAt: at, timeline: [{ at, state: 'received' }], ...change })
const made = async () =>
  (await collections.deliveries.find().sort({ order: 1 }).toArray()).map(
    ({ record, event }) => `${event} ${record}`,
  )
const untilMade = (...names: string[]) =>
  eventually(async () => {
    const now = await made()
    return names.every((name) => now.includes(name)) ? now : undefined
  })
const following = () =>
  eventually(async () => (await collections.relays.findOne({ from: { $exists: true } })) ?? undefined)

test('a message and what becomes of it have deliveries, in order', async () => {
  start(() => [subscription()])
  await following()
  const at = new Date()
  await messages.insertOne(message('a', at))
  const dead = { state: 'dead' as const, at: new Date() }
  await messages.updateOne(
    { _id: 'a' },
    { $set: { state: 'dead', updatedAt: dead.at }, $push: { timeline: dead } },
  )
  await messages.insertOne(message('of another workspace', at, { workspace: 2 }))
  expect(await untilMade('message.dead messages/a')).toEqual([
    'message.received messages/a',
    'message.dead messages/a',
  ])
})

test('what is erased between being read and being inserted has no delivery left, and another workspace its own', async () => {
  const insert = realInsert()
  const names = [1, 2].map((workspace) => ({ workspace, channel: 'c', extId: 't' }))
  const [erased = '', theirs = ''] = names.map(threadId)
  const events = new Set(['message.received', 'thread.opened'] as const)
  start(
    () => [
      subscription({ events }),
      subscription({ events, key: '2/1/0', shard: shardOf('2/1/0'), workspace: 2 }),
    ],
    async (deliveries) => {
      if (deliveries.some(({ record }) => record === 'messages/erased'))
        await messages.deleteOne({ _id: 'erased' })
      if (deliveries.some(({ event }) => event === 'thread.opened'))
        await threads.replaceOne({ _id: erased }, { extId: 'mark' } as ThreadRecord)
      await insert(deliveries)
    },
  )
  await following()
  const at = new Date()
  await threads.insertMany(
    names.map((name) => ({
      ...{ ...name, _id: threadId(name), user: {}, handler: 'assistant' as const, openedAt: at },
      ...{ lastMessage: 'x', lastAt: at, unread: 0, expiresAt: new Date(at.getTime() + 60_000) },
    })),
  )
  await messages.insertMany([message('erased', at), message('stays', at)])
  await untilMade('message.received messages/stays')
  await eventually(async () => (await made()).length === 2)
  const left = await collections.deliveries.find({ event: 'thread.opened' }).toArray()
  expect([left.map(({ workspace }) => workspace), await threads.countDocuments({ _id: theirs })]).toEqual([
    [2],
    1,
  ])
})

test('deliveries whose insert failed are made from the stored position, each once', async () => {
  let failures = 2
  const insert = realInsert()
  start(
    () => [subscription()],
    async (deliveries) => {
      await insert(deliveries)
      if (deliveries.length > 0 && failures-- > 0) throw new Error('the answer was lost')
    },
  )
  await following()
  for (const id of ['a', 'b', 'c']) await messages.insertOne(message(id, new Date()))
  await untilMade('message.received messages/c')
  await eventually(() => failures < 0)
  expect(await made()).toEqual(['a', 'b', 'c'].map((id) => `message.received messages/${id}`))
})

test('a subscription that is known late gets what has happened since it was turned on, and nothing before', async () => {
  const [before, since, after] = [
    new Date(Date.now() - 60_000),
    Date.now() - 30_000,
    new Date(Date.now() - 20_000),
  ]
  await messages.insertMany([message('before', before), message('after', after)])
  start(() => [subscription({ activeSince: since })])
  expect(await untilMade('message.received messages/after')).toEqual(['message.received messages/after'])
})

test('while no subscription names an event of messages, nothing is followed, and the position is forgotten', async () => {
  let subscribed = [subscription()]
  start(() => subscribed)
  await following()
  subscribed = [subscription({ events: new Set(['task.started']) })]
  await eventually(async () => {
    const stored = await collections.relays.findOne({ _id: 'messages' })
    return stored?.from === undefined && stored?.savedAt === undefined
  })
  await messages.insertOne(message('a', new Date()))
  subscribed = [subscription({ key: '1/2/0', activeSince: Date.now() })]
  await following()
  await messages.insertOne(message('b', new Date()))
  expect(await untilMade('message.received messages/b')).toEqual(['message.received messages/b'])
})

test('after the position was lost, what was changed since it was stored is looked at again', async () => {
  const since = new Date(Date.now() - 60_000)
  await collections.relays.insertOne({ _id: 'messages', savedAt: since })
  await collections.subscribers.insertOne({ _id: '1/1/0', caughtUp: '1/1/0 0' })
  await messages.insertMany([
    message('untouched', new Date(since.getTime() - 120_000)),
    message('in the gap', new Date(since.getTime() + 1_000)),
  ])
  start(() => [subscription()])
  expect(await untilMade('message.received messages/in the gap')).toEqual([
    'message.received messages/in the gap',
  ])
})

const NAME = { workspace: 1, channel: 'c', extId: 't' }
const ofThreads = (change: Partial<Subscription> = {}) =>
  subscription({ events: new Set(['thread.opened', 'thread.handed_off']), ...change })
const said = (lastMessage: string) =>
  writeThreads(threads, [
    {
      ...{ ...NAME, expiresAt: new Date(Date.now() + 3_600_000) },
      activity: { user: {}, lastMessage, lastAt: new Date() },
    },
  ])
const place = { ...NAME, partitions: [0], retentionMs: 3_600_000 }
const stored = () => ({ threads, messages }) as Pick<Collections, 'threads' | 'messages'>
const handOver = (reason: string) => giveToPerson(stored(), place, { given: { by: 'assistant', reason } })
const takeOver = () => giveToPerson(stored(), place, { given: { by: 'person' } })
const takeBack = () => giveToAssistant(stored(), place)
const happened = async () =>
  (await collections.deliveries.find().sort({ order: 1 }).toArray()).map(
    ({ event, record, line, payload }) => {
      const { by, reason } = JSON.parse(payload).data
      expect([record, line]).toEqual([`threads/${publicId(NAME)}`, 'thread/t'])
      return [event, by, reason].filter((part) => part != null).join(' ')
    },
  )
const untilHappened = (count: number) =>
  eventually(async () => {
    const now = await happened()
    return now.length >= count ? now : undefined
  })

test('a thread has an event when it is opened, and each time that a person gets it, with who gave it and why', async () => {
  start(() => [ofThreads()])
  await following()
  await said('Hello')
  await said('Are you there?')
  await handOver('asked for somebody')
  await said('I wait')
  await handOver('asked again')
  await takeOver()
  await takeBack()
  await takeOver()
  await takeBack()
  await handOver('asked once more')
  expect(await untilHappened(4)).toEqual([
    ...['thread.opened', 'thread.handed_off assistant asked for somebody', 'thread.handed_off person'],
    'thread.handed_off assistant asked once more',
  ])
})

test('a thread that an agent hands over before its document is written is opened by that', async () => {
  start(() => [ofThreads()])
  await following()
  await handOver('at once')
  await said('Hello')
  await takeBack()
  await takeOver()
  expect(await untilHappened(3)).toEqual([
    ...['thread.opened', 'thread.handed_off assistant at once', 'thread.handed_off person'],
  ])
})

test('a thread has an event for each message that ends without an answer, with its reason', async () => {
  start(() => [ofThreads({ events: new Set(['thread.unanswered']) })])
  await following()
  await said('Hello')
  const unread = (message: string, why: 'unanswered' | 'handler_is_person', minute: number) => {
    const at = new Date(Date.now() + minute * 60_000)
    const unreadFor = { why, message, at, reason: `${message} failed` }
    return threads.updateOne({ _id: threadId(NAME) }, { $set: { unread: minute, unreadFor } })
  }
  await unread('a', 'unanswered', 1)
  await unread('b', 'handler_is_person', 2)
  await threads.updateOne({ _id: threadId(NAME) }, { $set: { unread: 9 } })
  await unread('c', 'unanswered', 3)
  expect(await untilHappened(2)).toEqual(['thread.unanswered a failed', 'thread.unanswered c failed'])
})

test('a crash makes each event of a thread once', async () => {
  let failures = 3
  const insert = realInsert()
  start(
    () => [ofThreads()],
    async (deliveries) => {
      await insert(deliveries)
      if (deliveries.length > 0 && failures-- > 0) throw new Error('the answer was lost')
    },
  )
  await following()
  await said('Hello')
  await takeOver()
  await takeBack()
  await takeOver()
  await untilHappened(3)
  await eventually(() => failures < 0)
  expect(await happened()).toEqual(['thread.opened', 'thread.handed_off person', 'thread.handed_off person'])
})

test('what happened to threads while the position was lost, or a subscription was not known, has its events', async () => {
  await said('Hello')
  await takeOver()
  await threads.updateOne({}, { $set: { lastAt: new Date(Date.now() - 7 * 24 * 3_600_000) } })
  const other = ofThreads({
    key: '1/2/0',
    activeSince: Date.now() - 60_000,
    events: new Set(['thread.opened', 'thread.handed_off']),
  })
  await collections.relays.insertOne({ _id: 'messages', savedAt: new Date(Date.now() - 60_000) })
  await collections.subscribers.insertOne({ _id: '1/1/0', caughtUp: '1/1/0 0' })
  start(() => [ofThreads(), other])
  expect(await untilHappened(4)).toEqual([
    ...['thread.opened', 'thread.handed_off person', 'thread.opened', 'thread.handed_off person'],
  ])
})

test('what is written of a thread each second is not followed', async () => {
  const stream = (connection.db as mongo.Db).watch([{ $match: THREAD_WRITES }], { maxAwaitTimeMS: 200 })
  await stream.tryNext()
  for (let n = 0; n < 20; n++) await said(String(n))
  await threads.updateOne({}, { $set: { unread: 1 } })
  await takeOver()
  const followed = [await stream.next(), await stream.next()]
  expect(followed.map(threadWriteOf)).toMatchObject([
    { isOpened: true },
    { isOpened: false, handedOff: { by: 'person' } },
  ])
  await stream.close()
})
