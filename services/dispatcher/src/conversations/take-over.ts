import { pause } from '@parley/shared/every'
import { group } from '@parley/shared/group'
import { mongo } from 'mongoose'
import type { MessageRecord } from '../message/message-record.ts'
import {
  type HandedOff,
  handlerOf,
  ofThread,
  type ThreadName,
  type ThreadRecord,
  threadId,
} from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'
import { statusWriter } from '../store/commit.ts'

const QUERY_MS = 5_000
const LOOK_AGAIN_MS = 25
/** A claimed send leaves within that time, or not at all. */
const LEAVING_MS = 3_000
const MAX_OPEN = 200
const MAX_REASON = 1_024
const WRITER = statusWriter('take-over')

type Needed = Pick<Collections, 'threads' | 'messages'>

/** A thread, where its open messages may be, and for how long its messages are stored (milliseconds). */
export interface OpenThread extends ThreadName {
  joined?: readonly string[] | undefined
  partitions: number[]
  retentionMs: number
}

/** Resolves to true if a person has a message's thread, or one that it joins. Rejects if the database is unavailable. */
type IsWithPerson = (
  record: Pick<MessageRecord, 'workspace' | 'channel' | 'thread' | 'joined'>,
) => Promise<boolean>

/** Threads are looked up together, since a statement costs more than its share. */
export function createIsWithPerson({ threads }: Pick<Collections, 'threads'>): IsWithPerson {
  /** Those that a person has; and those of them that go on in others, with these. */
  const read = (ids: string[]) =>
    threads
      .find(
        { _id: { $in: ids }, $or: [{ handler: 'person' }, { joinedInto: { $exists: true } }] },
        { projection: { handler: 1, handlerUntil: 1, joinedInto: 1 }, maxTimeMS: QUERY_MS },
      )
      .toArray()
  const isWithPerson = group<ThreadName, boolean>({
    work: async (names) => {
      const ids = names.map(threadId)
      const found = await read(ids)
      if (found.length === 0) return names.map(() => false)
      const marks = new Map(found.map(({ _id, joinedInto }) => [_id, joinedInto]))
      const current = names.map((name, at) => {
        const id = ids[at] as string
        const extId = marks.get(id)
        return extId === undefined ? id : threadId({ ...name, extId })
      })
      const others = current.filter((id, at) => id !== ids[at])
      const now = Date.now()
      const all = [...found, ...(others.length === 0 ? [] : await read(others))]
      const persons = new Set(all.flatMap((one) => (handlerOf(one, now) === 'person' ? one._id : [])))
      return current.map((id) => persons.has(id))
    },
    charactersOf: ({ extId }) => extId.length,
    atOnce: 2,
  })
  return async ({ workspace, channel, thread, joined = [] }) => {
    const names = [thread, ...joined].map((extId) => ({ workspace, channel, extId }))
    return (await Promise.all(names.map(isWithPerson))).includes(true)
  }
}

/**
 * Gives a thread to a person. First its document says so, then each stored message that an agent or a handler was to
 * answer is marked. Whoever works such a message reads the document once the message is stored: so it sees the one, or
 * its next claim fails because of the other. Returns what was marked, and may be done again. `given` is in the same write,
 * so that the event of it follows from the thread, unless a person has the thread already. With `until` the person has it
 * until then, or for as long as they have it already where that is longer.
 */
export async function giveToPerson(
  collections: Needed,
  name: OpenThread,
  { except, given, until }: { except?: string; given?: Omit<HandedOff, 'at'>; until?: Date } = {},
): Promise<Pick<MessageRecord, '_id' | 'workspace' | 'thread'>[]> {
  await setPerson(collections.threads, name, { given, until })
  const open = { ...openOf(name), ...(except === undefined ? {} : { _id: { $ne: except } }) }
  await collections.messages.updateMany(
    { ...open, takenOver: { $exists: false } },
    { $set: { takenOver: new Date(), writer: WRITER }, $inc: { revision: 1 } },
    { maxTimeMS: QUERY_MS },
  )
  return collections.messages
    .find({ ...open, takenOver: { $exists: true } }, { maxTimeMS: QUERY_MS })
    .project<Pick<MessageRecord, '_id' | 'workspace' | 'thread'>>({ workspace: 1, thread: 1 })
    .limit(MAX_OPEN)
    .toArray()
}

/** Gives later messages of a thread to the channel's handler again. */
export async function giveToAssistant(
  { threads }: Pick<Collections, 'threads'>,
  name: OpenThread,
): Promise<void> {
  const { filter, update } = writeOf(name)
  await onceMore(() => threads.updateOne(filter, update({ handler: 'assistant' }), { upsert: true }))
}

/** Resolves once nothing of the marked messages can leave any more: what was claimed before has left. Within 3 s. */
export async function untilNothingLeaves(
  { messages }: Pick<Collections, 'messages'>,
  name: Omit<OpenThread, 'retentionMs'>,
): Promise<void> {
  const leaving = {
    ...openOf(name),
    takenOver: { $exists: true },
    due: { $exists: false },
    'sends.state': 'claimed',
  } as mongo.Filter<MessageRecord>
  const deadline = performance.now() + LEAVING_MS
  while (performance.now() < deadline) {
    const claimed = await messages.findOne(leaving, { projection: { _id: 1 }, maxTimeMS: QUERY_MS })
    if (claimed === null) return
    await pause(LOOK_AGAIN_MS)
  }
}

/** Those that carry no answer of their own. */
function openOf({
  partitions,
  workspace,
  channel,
  ...thread
}: Omit<OpenThread, 'retentionMs'>): mongo.Filter<MessageRecord> {
  const of = ofThread(thread)
  return { partition: { $in: partitions }, workspace, thread: of, open: true, channel, inbound: true }
}

/** Gives a thread to a person; if a person has it already, only the time is extended. */
async function setPerson(
  threads: Collections['threads'],
  name: OpenThread,
  { given, until }: { given: Omit<HandedOff, 'at'> | undefined; until: Date | undefined },
): Promise<void> {
  const { filter, update } = writeOf(name)
  const handedOff = given && {
    ...{ at: new Date(), by: given.by },
    ...(given.reason === undefined ? {} : { reason: given.reason.slice(0, MAX_REASON).toWellFormed() }),
  }
  const isPersons = { handler: 'person' } as const
  const ends = until === undefined ? {} : { handlerUntil: until }
  await onceMore(async () => {
    if (handedOff !== undefined) {
      const taken = await threads.updateOne(
        { ...filter, $or: [{ handler: 'assistant' }, { handlerUntil: { $lte: new Date() } }] },
        update({ ...isPersons, handedOff, ...ends }),
      )
      if (taken.matchedCount > 0) return
    }
    if (until !== undefined)
      await threads.updateOne({ ...filter, handlerUntil: { $lt: until } }, { $set: ends })
    await threads.updateOne(
      { ...filter, ...(handedOff === undefined ? {} : isPersons) },
      update(isPersons, handedOff === undefined ? {} : { handedOff, ...ends }),
      { upsert: true },
    )
  })
}

/** A thread whose document is not written yet has one from then on. */
function writeOf({ workspace, channel, extId, retentionMs }: OpenThread) {
  const now = new Date()
  const isNew = { user: {}, openedAt: now, lastMessage: '', lastAt: new Date(0), unread: 0 }
  type Change = Pick<ThreadRecord, 'handler' | 'handedOff' | 'handlerUntil'>
  const update = (change: Change, ofNew: Partial<Change> = {}): mongo.UpdateFilter<ThreadRecord> => ({
    $set: { workspace, channel, extId, ...change },
    $max: { expiresAt: new Date(now.getTime() + retentionMs) },
    $setOnInsert: { ...isNew, ...ofNew },
    // One that is given without an end has none.
    ...(change.handlerUntil === undefined && ofNew.handlerUntil === undefined
      ? { $unset: { handlerUntil: '' } }
      : {}),
  })
  return { filter: { _id: threadId({ workspace, channel, extId }) }, update }
}

/** Two upserts of one id at once: the other one has inserted it. */
async function onceMore(write: () => Promise<unknown>): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (!(error instanceof mongo.MongoServerError) || error.code !== 11_000) throw error
    await write()
  }
}
