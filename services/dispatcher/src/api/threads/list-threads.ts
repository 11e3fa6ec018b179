import { cursorOf, pageLimit } from '@parley/shared/list-query'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { phoneDigits } from '../../message/person-names.ts'
import { searchWords, type ThreadRecord } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'

/** Where a page ended: when something happened in its last thread, in milliseconds since the epoch, and its stored id. */
const position = z.tuple([z.number().int().min(0).max(8.64e15), z.string().min(1).max(16_384)])
const channel = z.string().max(1_024).optional()

/** What threads are listed by. */
export const threadQuery = z.object({
  channel,
  handler: z.enum(['assistant', 'person']).optional(),
  unread: z.enum(['true', 'false']).optional(),
  q: z.string().min(1).max(128).optional(),
  limit: pageLimit,
  after: cursorOf(position).optional(),
})
export type ThreadQuery = z.output<typeof threadQuery>

/** Of a thread whose `extId` several channels have. */
export const channelQuery = z.object({ channel })

const QUERY_MS = 5_000
/** A search by the beginning of a name or number sorts so many threads at most. */
const MAX_FOUND = 1_000

/** One thread more than a page has, the newest activity first. A search sorts the first 1,000 that it finds. */
export async function findThreads(
  threads: Collections['threads'],
  allowed: mongo.Filter<ThreadRecord>,
  asked: ThreadQuery,
): Promise<ThreadRecord[]> {
  const latest = { lastAt: -1, _id: -1 } as const
  const beyond = asked.after === undefined ? {} : beyondOf(asked.after)
  const filter: mongo.Filter<ThreadRecord> = { $and: [allowed, filterOf(asked), beyond] }
  if (asked.q === undefined)
    return threads
      .find(filter, { maxTimeMS: QUERY_MS })
      .sort(latest)
      .limit(asked.limit + 1)
      .toArray()
  const matching: mongo.Filter<ThreadRecord> = { $and: [allowed, filterOf(asked), searchOf(asked.q)] }
  const stages = [
    { $match: matching },
    { $limit: MAX_FOUND },
    { $match: beyond },
    { $sort: latest },
    { $limit: asked.limit + 1 },
  ]
  return threads.aggregate<ThreadRecord>(stages, { maxTimeMS: QUERY_MS }).toArray()
}

function filterOf({ channel, handler, unread }: ThreadQuery): mongo.Filter<ThreadRecord> {
  return {
    ...(channel === undefined ? {} : { channel }),
    ...(handler === undefined ? {} : { handler }),
    ...(unread === undefined ? {} : { unread: unread === 'true' ? { $gt: 0 } : 0 }),
  }
}

/** Digits are the beginning of a phone number, anything else whole words of the name and the beginning of the last. */
function searchOf(text: string): mongo.Filter<ThreadRecord> {
  const digits = /^[\d\s()+./-]+$/.test(text) ? phoneDigits(text) : undefined
  if (digits !== undefined) return { phone: beginningWith(digits) }
  const words = searchWords(text)
  const last = words.pop()
  if (last === undefined) return { _id: '' }
  return { $and: [...words.map((word) => ({ words: word })), { words: { $elemMatch: beginningWith(last) } }] }
}

function beginningWith(text: string): { $gte: string; $lt: string } {
  return { $gte: text, $lt: `${text}\u{10FFFF}` }
}

function beyondOf([at, _id]: z.output<typeof position>): mongo.Filter<ThreadRecord> {
  const lastAt = new Date(at)
  return { $or: [{ lastAt: { $lt: lastAt } }, { lastAt, _id: { $lt: _id } }] }
}
