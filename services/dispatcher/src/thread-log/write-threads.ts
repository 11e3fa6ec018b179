import { mongo } from 'mongoose'
import type { MessageRecord } from '../message/message-record.ts'
import { type ThreadName, type ThreadRecord, threadId, UNREAD_REASONS } from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'
import type { Activity } from './activity.ts'

const MAX_UNREAD = 1_000
const QUERY_MS = 5_000
const DUPLICATE_KEY = 11_000

/** What is written of a thread at once. */
export interface ThreadWrite extends ThreadName {
  activity: Activity
  lastInboundAt?: Date | undefined
  /** Until when its messages are stored, and so it is. */
  expiresAt: Date
}

/**
 * Writes what happened in threads, in one statement. What is there already and is later stays: an instance that lost
 * its lease can't undo what its successor wrote. Who has a thread is never written here.
 */
export async function writeThreads(threads: Collections['threads'], writes: ThreadWrite[]): Promise<void> {
  if (writes.length === 0) return
  try {
    await threads.bulkWrite(writes.map(updateOf), { ordered: false, ignoreUndefined: true })
  } catch (error) {
    if (!isLater(error)) throw error
  }
}

function updateOf({ workspace, channel, extId, activity, lastInboundAt, expiresAt }: ThreadWrite) {
  const { user, lastAt, ...others } = activity
  const userFields = Object.entries(user).map(([field, text]) => [`user.${field}`, text])
  const noUser = userFields.length === 0 ? { user: {} } : {}
  const isNew = { handler: 'assistant', unread: 0, openedAt: new Date(), ...noUser } as const
  const $set = { workspace, channel, extId, lastAt, ...others, ...Object.fromEntries(userFields) }
  return {
    updateOne: {
      filter: { _id: threadId({ workspace, channel, extId }), lastAt: { $lte: lastAt } },
      update: {
        $set,
        $max: { expiresAt, ...(lastInboundAt === undefined ? {} : { lastInboundAt }) },
        $setOnInsert: isNew,
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
  const thread = await threads.findOne({ _id }, { projection: { readAt: 1 }, maxTimeMS: QUERY_MS })
  if (thread === null) return
  const readAt = thread.readAt ?? null
  const { workspace, channel, extId } = name
  const filter: mongo.Filter<MessageRecord> = {
    workspace,
    thread: extId,
    channel,
    reason: { $in: [...UNREAD_REASONS] },
    receivedAt: { $gt: readAt ?? new Date(0) },
  }
  const [last] = await messages
    .find(filter, { projection: { receivedAt: 1 }, maxTimeMS: QUERY_MS })
    .sort({ receivedAt: -1, _id: -1 })
    .limit(1)
    .toArray()
  if (last === undefined) return
  const unread = await messages.countDocuments(filter, { limit: MAX_UNREAD, maxTimeMS: QUERY_MS })
  await threads.updateOne(
    { _id, readAt: readAt as Date },
    { $set: { unread, lastUnreadAt: last.receivedAt } },
  )
}
