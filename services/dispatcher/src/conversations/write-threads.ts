import { defined } from '@parley/shared/defined'
import { insertNew } from '@parley/shared/insert-new'
import { mongo } from 'mongoose'
import type { MessageRecord } from '../message/message-record.ts'
import { HANDLER_IS_PERSON } from '../message/progress.ts'
import { ofThread, type ThreadName, type ThreadRecord, threadId } from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'
import { type Activity, UNREAD, unreadFor } from './activity.ts'
import { latestOf } from './recover-written.ts'

const RECENT = 50
const MAX_UNREAD = 1_000
const QUERY_MS = 5_000
const DUPLICATE_KEY = 11_000

/** The data that is written of a thread at once. */
export interface ThreadWrite extends ThreadName {
  activity: Activity
  lastInboundAt?: Date | undefined
  /** Until when its messages are stored, and so it is. */
  expiresAt: Date
}

/**
 * Writes what happened in threads. What is there already and is later stays: an instance that lost its lease can't undo
 * what its successor wrote. Who has a thread is never written here. Threads that are there take one statement, new ones
 * another: measured, that costs the database two fifths of an update each, and less than a third of an upsert. What is
 * left are the marks of erased threads, which begin anew, threads that were made or removed meanwhile, and those that
 * go on in others: these are returned.
 */
export async function writeThreads(
  threads: Collections['threads'],
  writes: ThreadWrite[],
): Promise<ThreadName[]> {
  const found = await updatePresent(threads, writes)
  if (found === writes.length) return []
  const present = await insertNew(threads, writes.map(newThread))
  if (present.length === found) return []
  const joined = await joinedInto(threads, present)
  const ids = new Set(present.filter(({ _id }) => !joined.has(_id)).map(({ _id }) => _id))
  const others = writes.filter((write) => ids.has(threadId(write)))
  try {
    if (others.length > 0)
      await threads.bulkWrite(others.map(updateOf), { ordered: false, ignoreUndefined: true })
  } catch (error) {
    if (!isLater(error)) throw error
    await updatePresent(threads, others)
  }
  return [...joined.values()]
}

/** The threads in which some of these go on, by the ids of these. */
async function joinedInto(
  threads: Collections['threads'],
  present: readonly ThreadRecord[],
): Promise<Map<string, ThreadName>> {
  const names = new Map(present.map((one) => [one._id, one]))
  const marks = await threads
    .find({ _id: { $in: [...names.keys()] }, joinedInto: { $exists: true } }, { maxTimeMS: QUERY_MS })
    .project<Pick<ThreadRecord, '_id' | 'joinedInto'>>({ joinedInto: 1 })
    .toArray()
  return new Map(
    marks.flatMap(({ _id, joinedInto: extId = '' }) => {
      const { workspace, channel } = names.get(_id) ?? {}
      return workspace === undefined || channel === undefined ? [] : [[_id, { workspace, channel, extId }]]
    }),
  )
}

/** How many of the threads are there; each finds what is written of it by its id. */
async function updatePresent(threads: Collections['threads'], writes: ThreadWrite[]): Promise<number> {
  if (writes.length === 0) return 0
  const _id = { $in: writes.map(threadId) }
  const changes = writes.map(({ activity: { user, lastAt, ...others }, lastInboundAt, expiresAt }) => ({
    set: others,
    user,
    latest: { lastAt, expiresAt, ...defined({ lastInboundAt }) },
  }))
  const at = { $indexOfArray: [{ $literal: _id.$in }, '$_id'] }
  const change = { $arrayElemAt: [{ $literal: changes }, '$$at'] }
  const next = { $let: { vars: { change }, in: CHANGED } }
  const update = [{ $replaceWith: { $let: { vars: { at }, in: next } } }]
  const { matchedCount } = await threads.updateMany({ _id, workspace: { $exists: true } }, update)
  return matchedCount
}

const latest = (field: string) => ({ [field]: { $max: [`$${field}`, `$$change.latest.${field}`] } })
/** The thread after a change: the later message's fields stay; the latest times count, whichever message had them. */
const CHANGED = {
  $mergeObjects: [
    '$$ROOT',
    {
      $cond: [
        { $lt: ['$$change.latest.lastAt', '$lastAt'] },
        {},
        {
          $mergeObjects: [
            '$$change.set',
            { user: { $mergeObjects: ['$user', '$$change.user'] } },
            { lastAt: '$$change.latest.lastAt' },
            {
              $cond: [
                { $eq: [{ $type: '$contactWords' }, 'missing'] },
                {},
                { words: { $setUnion: ['$contactWords', { $ifNull: ['$$change.set.words', []] }] } },
              ],
            },
          ],
        },
      ],
    },
    latest('expiresAt'),
    // Whoever writes again opens it.
    {
      $cond: [
        {
          $and: [
            { $eq: [{ $type: '$closed' }, 'object'] },
            { $gt: ['$$change.latest.lastInboundAt', '$closed.upTo'] },
          ],
        },
        { closed: null },
        {},
      ],
    },
    {
      $cond: [{ $eq: [{ $type: '$$change.latest.lastInboundAt' }, 'missing'] }, {}, latest('lastInboundAt')],
    },
  ],
}

const initially = () => ({ handler: 'assistant', unread: 0, openedAt: new Date() }) as const

function newThread({ workspace, channel, extId, activity, lastInboundAt, expiresAt }: ThreadWrite) {
  const _id = threadId({ workspace, channel, extId })
  const written = { workspace, channel, extId, ...activity, expiresAt, ...defined({ lastInboundAt }) }
  return { _id, ...written, ...initially() } satisfies ThreadRecord
}

function updateOf({ workspace, channel, extId, activity, lastInboundAt, expiresAt }: ThreadWrite) {
  const { user, lastAt, ...others } = activity
  const userFields = Object.entries(user).map(([field, text]) => [`user.${field}`, text])
  const noUser = userFields.length === 0 ? { user: {} } : {}
  const $set = { workspace, channel, extId, lastAt, ...others, ...Object.fromEntries(userFields) }
  return {
    updateOne: {
      filter: { _id: threadId({ workspace, channel, extId }), lastAt: { $lte: lastAt } },
      update: {
        $set,
        $max: { expiresAt, ...defined({ lastInboundAt }) },
        // It may have been removed since it was found.
        $setOnInsert: { ...initially(), ...noUser },
      } as mongo.UpdateFilter<ThreadRecord>,
      upsert: true,
    },
  }
}

/** The thread's document has something later, so that it did not match, and its id was taken. */
function isLater(error: unknown): boolean {
  if (!(error instanceof mongo.MongoBulkWriteError)) return false
  const failures = [error.writeErrors].flat()
  return failures.length > 0 && failures.every(({ code }) => code === DUPLICATE_KEY)
}

type Counted = Pick<Collections, 'threads' | 'messages'>

/**
 * Counts the unread messages of a thread from the messages, so that it comes out the same however often it is done.
 * One that is marked as read meanwhile is left as it is.
 */
export async function countUnread({ threads, messages }: Counted, name: ThreadName): Promise<void> {
  const _id = threadId(name)
  const thread = await threads.findOne(
    { _id, joinedInto: { $exists: false } },
    { projection: { readAt: 1, extId: 1, joined: 1 }, maxTimeMS: QUERY_MS },
  )
  if (thread === null) return
  const readAt = thread.readAt ?? null
  const { workspace, channel, extId } = name
  const filter: mongo.Filter<MessageRecord> = {
    workspace,
    thread: ofThread({ ...thread, extId }),
    channel,
    ...UNREAD,
    receivedAt: { $gt: readAt ?? new Date(0) },
  }
  const lastOf = async (more: mongo.Filter<MessageRecord> = {}) => {
    const projection = { receivedAt: 1, reason: 1, state: 1 }
    const found = messages.find({ ...filter, ...more }, { projection, maxTimeMS: QUERY_MS })
    const [last] = await found.sort({ receivedAt: -1, _id: -1 }).limit(1).toArray()
    return last
  }
  const last = await lastOf()
  if (last === undefined) {
    // The unread messages were run again, and answered.
    const none = { $set: { unread: 0 }, $unset: { unreadFor: '' } } as const
    await threads.updateOne({ _id, readAt: readAt as Date, unread: { $gt: 0 } }, none)
    return
  }
  const isLater = last.reason === HANDLER_IS_PERSON.reason
  const cause = (isLater ? await lastOf({ reason: { $ne: last.reason } }) : undefined) ?? last
  // Up to that one, so that both say the same whatever arrives meanwhile.
  const receivedAt = { $gt: readAt ?? new Date(0), $lte: last.receivedAt }
  const unread = await messages.countDocuments(
    { ...filter, receivedAt },
    { limit: MAX_UNREAD, maxTimeMS: QUERY_MS },
  )
  await threads.updateOne(
    { _id, readAt: readAt as Date },
    { $set: { unread, lastUnreadAt: last.receivedAt, unreadFor: unreadFor(cause) } },
  )
}

/** Writes threads whose documents are not there (yet) from their messages; without `channel`, on every recent one. */
export async function writeFromMessages(
  { threads, messages }: Pick<Collections, 'threads' | 'messages'>,
  options: { workspace: number; names: Array<{ extId: string; channel?: string }>; retentionMs: number },
): Promise<void> {
  const { workspace, names, retentionMs } = options
  for (const { extId, channel } of names) {
    const found = await messages
      .find(
        { workspace, thread: extId, ...(channel === undefined ? {} : { channel }) },
        { maxTimeMS: QUERY_MS },
      )
      .project<{ channel: string }>({ channel: 1 })
      .sort({ receivedAt: -1, _id: -1 })
      .limit(RECENT)
      .toArray()
    for (const one of new Set(found.map((message) => message.channel)))
      await writeThread({ threads, messages }, { workspace, channel: one, extId }, retentionMs)
  }
}

/** Writes a thread from its messages and those of the threads that joined it. */
export async function writeThread(
  collections: Pick<Collections, 'threads' | 'messages'>,
  name: ThreadName,
  retentionMs: number,
): Promise<void> {
  const thread = await collections.threads.findOne(
    { _id: threadId(name) },
    { projection: { joined: 1 }, maxTimeMS: QUERY_MS },
  )
  const latest = await latestOf(collections.messages, { ...name, ...defined({ joined: thread?.joined }) })
  if (latest === undefined) return
  const expiresAt = new Date(latest.activity.lastAt.getTime() + retentionMs)
  await writeThreads(collections.threads, [{ ...name, ...latest, expiresAt }])
  await countUnread(collections, name)
}
