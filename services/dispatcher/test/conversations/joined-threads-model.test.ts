import { expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import fc from 'fast-check'
import { MODEL_RUNS } from '../../../../tests/sizes.ts'
import { readConversation } from '../../src/api/threads/conversation.ts'
import { joinThreads, namesOfThread } from '../../src/conversations/joined-threads.ts'
import { createReadQuoted } from '../../src/conversations/quoted-messages.ts'
import { createIsWithPerson } from '../../src/conversations/take-over.ts'
import { createThreadLog } from '../../src/conversations/thread-log.ts'
import { writeThread } from '../../src/conversations/write-threads.ts'
import type { MessageRecord } from '../../src/message/message-record.ts'
import { type ThreadName, type ThreadRecord, threadId } from '../../src/message/thread-record.ts'
import type { Collections } from '../../src/store/collections.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const RETENTION_MS = 60 * 60_000
const [FIRST, LATER] = ['5582991234567', '558291234567']
const database = dispatcherDatabase({ partitions: 1 })
let workspace = 0
let number = 0
const at = (minute: number) => new Date(Date.UTC(2030, 0, 1, 0, minute))
const nameOf = (extId: string, channel = 'line'): ThreadName => ({ workspace, channel, extId })

/** A message that the person wrote, in a channel and a minute, and which has ended. */
function wrote(thread: string, minute: number, more: Partial<MessageRecord> = {}): MessageRecord {
  const said = { extId: 'line', user: { name: 'Ana' }, thread: {}, answer: {}, input: `said at ${minute}` }
  const { open: _open, ...ended } = newRecord({
    ...{ _id: `j${++number}`, workspace, thread, channel: 'line', state: 'done', inbound: true },
    ...{ receivedAt: at(minute), updatedAt: at(minute), body: JSON.stringify(said), ...more },
  })
  return ended
}

class Killed extends Error {}

/** The threads for an instance that dies right before its statement of that number, or right after it. */
function killable(statement: number, when: 'before' | 'after'): Pick<Collections, 'threads' | 'messages'> {
  const { threads, messages } = database.collections
  let left = statement
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    const isLast = left-- === 0
    if (isLast && when === 'before') throw new Killed()
    const result = await work()
    if (isLast) throw new Killed()
    return result
  }
  const proxy = new Proxy(threads, {
    get(target, name) {
      const method = Reflect.get(target, name)
      if (typeof method !== 'function' || name === 'find') return method.bind?.(target) ?? method
      return (...args: unknown[]) => step(() => method.apply(target, args))
    },
  })
  return { threads: proxy, messages }
}

const stored = (name: ThreadName): Promise<ThreadRecord | null> =>
  database.collections.threads.findOne({ _id: threadId(name) })
const textsOf = async (thread: ThreadRecord) => {
  const { messages } = database.collections
  const reading = { messages, readQuoted: createReadQuoted({ messages }) }
  const { data } = await readConversation(reading, thread, { limit: 50 } as never)
  return data.map((entry) => (entry as { text?: string }).text)
}

test('two threads are read as one, with all that both had, wherever an instance died while it joined them', async () => {
  const { threads, messages } = database.collections
  const death = fc.record({
    statement: fc.integer({ min: 0, max: 12 }),
    when: fc.constantFrom('before' as const, 'after' as const),
  })
  const handler = fc.constantFrom('assistant' as const, 'person' as const)
  await fc.assert(
    fc.asyncProperty(fc.array(death, { maxLength: 3 }), handler, handler, async (deaths, first, later) => {
      workspace++
      await messages.insertMany([
        wrote(FIRST, 1),
        wrote(LATER, 2, { reason: 'handler_is_person' }),
        wrote(LATER, 3, { channel: 'other' }),
        wrote(FIRST, 4),
        wrote(LATER, 5),
      ])
      for (const name of [nameOf(FIRST), nameOf(LATER), nameOf(LATER, 'other')])
        await writeThread({ threads, messages }, name, RETENTION_MS)
      await threads.updateOne({ _id: threadId(nameOf(FIRST)) }, { $set: { handler: first } })
      await threads.updateOne({ _id: threadId(nameOf(LATER)) }, { $set: { handler: later } })
      const join = (collections: Pick<Collections, 'threads' | 'messages'>) =>
        joinThreads(collections, { ...nameOf(FIRST), joined: [LATER] }, RETENTION_MS)
      const isPersons = first === 'person' || later === 'person'
      const isWithPerson = createIsWithPerson({ threads })
      for (const { statement, when } of deaths) {
        await join(killable(statement, when)).catch((error: unknown) => {
          if (!(error instanceof Killed)) throw error
        })
        // Whoever has one of them has it at any time.
        const message = { ...nameOf(FIRST), thread: FIRST, joined: [LATER] }
        expect(await isWithPerson(message)).toBe(isPersons)
      }
      await join({ threads, messages })
      for (const thread of [FIRST, LATER])
        expect(await isWithPerson({ ...nameOf(thread), thread })).toBe(isPersons)
      const joined = (await stored(nameOf(FIRST))) as ThreadRecord
      expect(joined).toMatchObject({
        ...{ joined: [LATER], lastMessage: 'said at 5', lastInboundAt: at(5), unread: 1 },
        handler: isPersons ? 'person' : 'assistant',
      })
      expect(await textsOf(joined)).toEqual(['said at 1', 'said at 2', 'said at 4', 'said at 5'])
      expect(await stored(nameOf(FIRST, 'other'))).toMatchObject({
        joined: [LATER],
        lastMessage: 'said at 3',
      })
      expect(await threads.countDocuments({ workspace })).toBe(2)
      for (const extId of [FIRST, LATER])
        expect(new Set(await namesOfThread(threads, { workspace, extId }))).toEqual(new Set([FIRST, LATER]))
    }),
    { numRuns: 10 * MODEL_RUNS },
  )
})

test('what ends in a thread that has joined is in the list as the other one’s, which stays one', async () => {
  const { threads, messages } = database.collections
  workspace++
  await messages.insertMany([wrote(FIRST, 1), wrote(LATER, 2)])
  const threadLog = createThreadLog({
    ...{ collections: database.collections, instance: 'one', retentionMs: RETENTION_MS },
    reportPeople: async () => {},
    log: createLog({ service: 'test', level: 'silent' }),
  })
  const touch = async (record: MessageRecord) => {
    await messages.insertOne(record)
    threadLog.touch(record)
  }
  await touch(wrote(LATER, 3))
  await touch(wrote(FIRST, 4, { joined: [LATER] }))
  await eventually(async () => (await stored(nameOf(LATER)))?.joinedInto === FIRST)
  await touch(wrote(LATER, 5, { reason: 'handler_is_person' }))
  await eventually(async () => (await stored(nameOf(FIRST)))?.unread === 1)
  expect(await stored(nameOf(FIRST))).toMatchObject({ lastMessage: 'said at 5', lastInboundAt: at(5) })
  expect(await threads.countDocuments({ workspace })).toBe(1)
  await threadLog.close()
})

test('of three threads that turn out to be one’s, each name leads to the first', async () => {
  const { threads, messages } = database.collections
  workspace++
  await messages.insertMany([wrote('a', 1), wrote('b', 2), wrote('c', 3)])
  for (const extId of ['a', 'b', 'c']) await writeThread({ threads, messages }, nameOf(extId), RETENTION_MS)
  await joinThreads({ threads, messages }, { ...nameOf('b'), joined: ['c'] }, RETENTION_MS)
  await joinThreads({ threads, messages }, { ...nameOf('a'), joined: ['b', 'c'] }, RETENTION_MS)
  for (const extId of ['b', 'c']) expect(await stored(nameOf(extId))).toMatchObject({ joinedInto: 'a' })
  const first = (await stored(nameOf('a'))) as ThreadRecord
  expect(await textsOf(first)).toEqual(['said at 1', 'said at 2', 'said at 3'])
})

test('what the team had put a thread under goes on with it, and what is there already stays', async () => {
  const { threads, messages } = database.collections
  workspace++
  await messages.insertMany([wrote(FIRST, 1), wrote(LATER, 2)])
  for (const name of [nameOf(FIRST), nameOf(LATER)])
    await writeThread({ threads, messages }, name, RETENTION_MS)
  const closed = { status: 'resolved' as const, upTo: at(1) }
  await threads.updateOne({ _id: threadId(nameOf(FIRST)) }, { $set: { labels: ['own'], closed } })
  const assignee = { _id: 7, name: 'Bruno', at: at(1), by: 6 }
  const team = { _id: 3, name: 'Sales', at: at(1), by: 6 }
  await threads.updateOne(
    { _id: threadId(nameOf(LATER)) },
    { $set: { labels: ['own', 'vip'], assignee, team } },
  )
  await joinThreads({ threads, messages }, { ...nameOf(FIRST), joined: [LATER] }, RETENTION_MS)
  // The person has written in the other one since.
  expect(await stored(nameOf(FIRST))).toMatchObject({ labels: ['own', 'vip'], assignee, team, closed: null })
})
