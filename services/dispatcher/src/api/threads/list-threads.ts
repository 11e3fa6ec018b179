import { cursorOf, pageLimit } from '@parley/shared/list-query'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { ThreadRecord } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'
import type { VisibleThreads } from './find-thread.ts'
import { searchThreads } from './search-threads.ts'

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
const LATEST = { lastAt: -1, _id: -1 } as const

/** One thread more than a page has, the newest activity first. A search sorts the first 1,000 that it finds. */
export async function findThreads(
  threads: Collections['threads'],
  visible: VisibleThreads,
  asked: ThreadQuery,
): Promise<ThreadRecord[]> {
  const beyond = asked.after === undefined ? {} : beyondOf(asked.after)
  const filter: mongo.Filter<ThreadRecord> = { $and: [visible, filterOf(asked)] }
  const limit = asked.limit + 1
  if (asked.q !== undefined) {
    const { workspace } = visible
    return searchThreads(threads, { workspace, filter, text: asked.q, page: { beyond, sort: LATEST, limit } })
  }
  return threads
    .find({ $and: [filter, beyond] }, { maxTimeMS: QUERY_MS })
    .sort(LATEST)
    .limit(limit)
    .toArray()
}

function filterOf({ channel, handler, unread }: ThreadQuery): mongo.Filter<ThreadRecord> {
  return {
    ...(channel === undefined ? {} : { channel }),
    ...(handler === undefined ? {} : { handler }),
    ...(unread === undefined ? {} : { unread: unread === 'true' ? { $gt: 0 } : 0 }),
  }
}

function beyondOf([at, _id]: z.output<typeof position>): mongo.Filter<ThreadRecord> {
  const lastAt = new Date(at)
  // The first is implied by the second, which the database can't begin at.
  return { lastAt: { $lte: lastAt }, $or: [{ lastAt: { $lt: lastAt } }, { _id: { $lt: _id } }] }
}
