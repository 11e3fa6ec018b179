import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import { mongo } from 'mongoose'
import { createThreadLog, type ThreadLog } from '../../src/conversations/thread-log.ts'
import type { MessageRecord } from '../../src/message/message-record.ts'
import { threadId } from '../../src/message/thread-record.ts'
import type { Lease } from '../../src/store/lease-store.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const RETENTION_MS = 60_000
const log = createLog({ service: 'test', level: 'silent' })
const database = dispatcherDatabase({ partitions: 1 })
let number = 0

/** A message that a person is to read, ended a moment ago. */
function unreadMessage(thread: string, partition: number, at = new Date()): MessageRecord {
  const record = newRecord({
    _id: `m${++number}`,
    workspace: 1,
    thread,
    partition,
    channel: 'c',
    state: 'done',
    reason: 'handler_is_person',
    inbound: true,
    receivedAt: at,
    updatedAt: at,
    expiresAt: new Date(at.getTime() + RETENTION_MS),
    body: JSON.stringify({
      extId: 'c',
      user: { name: 'Ana' },
      thread: {},
      answer: {},
      input: `said ${number}`,
    }),
  })
  const { open: _open, ...ended } = record
  return ended
}

const leaseOf = (partition: number, term: number): Lease => ({
  ...{ generation: 1, partition, term, repeatsUntil: undefined },
  isValid: () => true,
})

/** An instance with the lease of a partition. */
async function startInstance(
  instance: string,
  partition: number,
  term: number,
  collections = database.collections,
): Promise<ThreadLog> {
  await database.collections.partitions.updateOne(
    { _id: partition },
    { $set: { owner: instance, term, expiresAt: new Date(Date.now() + 60_000) } },
    { upsert: true },
  )
  const threadLog = createThreadLog({
    collections,
    instance,
    retentionMs: RETENTION_MS,
    reportPeople: async () => {},
    log,
  })
  threadLog.open(leaseOf(partition, term))
  return threadLog
}

const read = (extId: string) =>
  database.collections.threads.findOne({ _id: threadId({ workspace: 1, channel: 'c', extId }) })
const checkpointOf = async (partition: number) =>
  (await database.collections.partitions.findOne({ _id: partition }))?.threads

describe('the documents of threads', () => {
  test('name the person, also where the last message of the same moment does not', async () => {
    const instance = await startInstance('naming', 14, 1)
    const named = { ...unreadMessage('n', 14, new Date(Date.now() - 10)), names: ['ana'] }
    const user = { phone: '+55 11 4711' }
    const body = JSON.stringify({ extId: 'c', user, thread: {}, answer: {}, input: 'without a name' })
    const last = { ...unreadMessage('n', 14), addresses: ['phone:55114711'], body }
    await database.collections.messages.insertMany([named, last])
    for (const record of [named, last]) instance.touch(record)
    await instance.release({ partition: 14, term: 1 })
    expect(await read('n')).toMatchObject({
      lastMessage: 'without a name',
      user: { name: 'Ana', ...user },
      addresses: ['phone:55114711'],
      words: ['ana'],
    })
    await database.collections.threads.deleteMany({})
    const next = await startInstance('next', 14, 2)
    await database.collections.partitions.updateOne(
      { _id: 14 },
      { $set: { threads: { until: new Date(0), retentionMs: RETENTION_MS } } },
    )
    next.open(leaseOf(14, 2))
    await eventually(async () => (await read('n'))?.user.name === 'Ana')
    await Promise.all([instance.close(), next.close()])
  })

  test('are written by the next owner of a partition where the last one died before it did, and count what is unread once', async () => {
    const first = await startInstance('first', 11, 1)
    const [seen, unseen] = [unreadMessage('t', 11), unreadMessage('t', 11)]
    await database.collections.messages.insertOne(seen)
    first.touch(seen)
    await eventually(async () => (await read('t'))?.unread === 1)
    await eventually(() => checkpointOf(11))
    await first.close()
    // It died after the message was stored, and before its thread was written.
    await database.collections.messages.insertMany([unseen, unreadMessage('of another partition', 12)])
    const second = await startInstance('second', 11, 2)
    await eventually(async () => (await read('t'))?.unread === 2)
    expect(await read('t')).toMatchObject({
      lastMessage: `said ${unseen._id.slice(1)}`,
      user: { name: 'Ana' },
    })
    expect(await read('of another partition')).toBeNull()
    await second.release({ partition: 11, term: 2 })
    expect(await checkpointOf(11)).toBeUndefined()
    await second.close()
  })

  test('are complete when a partition is released in the moment after it was taken over', async () => {
    await database.collections.messages.insertOne(unreadMessage('v', 15))
    const threads = { until: new Date(0), retentionMs: RETENTION_MS }
    await database.collections.partitions.updateOne({ _id: 15 }, { $set: { threads } }, { upsert: true })
    const instance = await startInstance('short', 15, 1)
    await instance.release({ partition: 15, term: 1 })
    expect(await read('v')).toMatchObject({ unread: 1 })
    expect(await checkpointOf(15)).toBeUndefined()
    await instance.close()
  })

  test('are written although the unread messages of one of them take too long to count', async () => {
    const { messages } = database.collections
    const records = [unreadMessage('large', 16), unreadMessage('small', 16)]
    await messages.insertMany(records)
    const countDocuments: typeof messages.countDocuments = (filter, options) =>
      filter?.thread === 'large'
        ? Promise.reject(new mongo.MongoServerError({ code: 50, message: 'operation exceeded time limit' }))
        : messages.countDocuments(filter, options)
    const slow = new Proxy(messages, {
      get: (target, name) => (name === 'countDocuments' ? countDocuments : Reflect.get(target, name)),
    })
    const threads = { until: new Date(0), retentionMs: RETENTION_MS }
    await database.collections.partitions.updateOne({ _id: 16 }, { $set: { threads } }, { upsert: true })
    const instance = await startInstance('slow', 16, 1, { ...database.collections, messages: slow })
    for (const record of records) instance.touch(record)
    const isWhole = () => instance.isWhole({ partition: 16, term: 1 })
    const whole = await eventually(isWhole, { timeoutMs: 5_000 }).catch(() => false)
    await instance.close()
    expect([whole, (await read('small'))?.unread]).toEqual([true, 1])
  })

  test('are not written back to what an instance without the lease remembers', async () => {
    const [early, late] = [unreadMessage('u', 13, new Date(Date.now() - 5_000)), unreadMessage('u', 13)]
    await database.collections.messages.insertMany([early, late])
    const [one, other] = [await startInstance('one', 13, 1), await startInstance('other', 13, 2)]
    other.touch(late)
    await eventually(async () => (await read('u'))?.lastMessage === `said ${late._id.slice(1)}`)
    one.touch(early)
    await one.close()
    expect(await read('u')).toMatchObject({ lastMessage: `said ${late._id.slice(1)}`, unread: 2 })
    await other.close()
  })
})
