import { defined } from '@parley/shared/defined'
import { cursorOf, pageLimit } from '@parley/shared/list-query'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { MOST_LABELS, type ThreadRecord } from '../../message/thread-record.ts'
import { type Collections, STATUS_INDEX, WRITTEN_INDEX } from '../../store/collections.ts'
import type { VisibleThreads } from './find-thread.ts'
import { type FoundThread, searchMessages, searchPeople } from './search-threads.ts'

/**
 * Where a page ended: when something happened in its last thread, in milliseconds since the epoch, its stored id, and whether
 * that was found by a message: those come after people.
 */
const position = z.tuple([
  z.number().int().min(0).max(8.64e15),
  z.string().min(1).max(16_384),
  z.literal('message').optional(),
])
const MAX_LABEL = 64
const channel = z.string().max(1_024).optional()

/** One word or a few. */
const threadLabel = z.string().trim().min(1).max(MAX_LABEL)
export const threadLabels = z
  .array(threadLabel)
  .max(MOST_LABELS)
  .transform((labels) => [...new Set(labels)])

/** The parameters that threads are listed by. */
export const threadQuery = z.object({
  channel: channel.describe('The external id of their channel'),
  handler: z.enum(['assistant', 'person']).optional().describe('Who has them'),
  unread: z.enum(['true', 'false']).optional().describe('Whether there is something to read in them'),
  status: z
    .enum(['open', 'resolved', 'snoozed'])
    .optional()
    .describe('Whether they are open, done with, or put off'),
  assignee: z
    .union([z.literal('none'), z.string().regex(/^[1-9]\d{0,15}$/)])
    .optional()
    .describe('Whose they are: the `_id` of a user, or `none`'),
  team: z
    .union([z.literal('none'), z.string().regex(/^\d{1,16}(?:,\d{1,16}){0,99}$/)])
    .optional()
    .describe('Whose they are: the `_id` of a team, or of several between commas, or `none`'),
  label: threadLabel.optional().describe('A label that they have'),
  wrote: z
    .enum(['true', 'false'])
    .optional()
    .describe('Whether the person ever wrote in them, or only we did'),
  q: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      'Words of the name, of the last one the beginning, or four digits of the phone number or more (of fewer its beginning); then those in which one message has all of the words. 10,000 threads and the newest 5,000 messages with the rarest of the words are looked at, and 1,000 threads of each sorted, at most',
    ),
  total: z.literal('true').optional().describe('Says how many there are in all, too; not with `q`'),
  limit: pageLimit,
  after: cursorOf(position).optional(),
})
type ThreadQuery = z.output<typeof threadQuery>

/** Of a thread whose `extId` several channels have. */
export const channelQuery = z.object({
  channel: channel.describe('The external id of its channel, where several have a thread of that `extId`'),
})

const QUERY_MS = 5_000
const MOST_COUNTED = 1_000
const LATEST = { lastAt: -1, _id: -1 } as const

/**
 * One thread more than a page has, the newest activity first. A search sorts the first 1,000 that it finds by their people,
 * and behind them those that it finds by their messages.
 */
export async function findThreads(
  collections: Pick<Collections, 'threads' | 'messages' | 'messageWords'>,
  visible: VisibleThreads,
  asked: ThreadQuery,
): Promise<FoundThread[]> {
  const { q: text, after, limit } = asked
  if (text === undefined) return listed(collections.threads, visible, asked).toArray()
  const filter: mongo.Filter<ThreadRecord> = { $and: [visible, filterOf(asked)] }
  const beyond = after === undefined ? {} : beyondOf(after)
  const search = { workspace: visible.workspace, filter, text }
  const page = { beyond, sort: LATEST, limit: limit + 1 }
  const isBehind = after?.[2] !== undefined
  const people = isBehind ? [] : await searchPeople(collections, { ...search, page })
  const left = page.limit - people.length
  if (left === 0) return people
  const behind = { ...page, limit: left, beyond: isBehind ? beyond : {} }
  return [...people, ...(await searchMessages(collections, { ...search, page: behind }))]
}

/** How many there are, on all pages; a thousand are counted at most. */
export async function countThreads(
  threads: Collections['threads'],
  visible: VisibleThreads,
  asked: ThreadQuery,
): Promise<{ count: number; isMore: boolean }> {
  const found = await threads.countDocuments(
    { $and: [visible, filterOf(asked)] },
    { limit: MOST_COUNTED + 1, maxTimeMS: QUERY_MS, ...defined({ hint: indexOf(asked) }) },
  )
  return { count: Math.min(found, MOST_COUNTED), isMore: found > MOST_COUNTED }
}

/** Where the page after a thread begins. */
export const positionOf = ({ lastAt, _id, found }: FoundThread): z.input<typeof position> =>
  found === undefined ? [lastAt.getTime(), _id] : [lastAt.getTime(), _id, 'message']

/** The list without a search, as the database reads it. */
export function listed(threads: Collections['threads'], visible: VisibleThreads, asked: ThreadQuery) {
  const beyond = asked.after === undefined ? {} : beyondOf(asked.after)
  return threads
    .find(
      { $and: [visible, filterOf(asked), beyond] },
      { maxTimeMS: QUERY_MS, ...defined({ hint: indexOf(asked) }) },
    )
    .sort(LATEST)
    .limit(asked.limit + 1)
}

/**
 * Nearly all threads are resolved in the end, and in most only we wrote: by their activity the database would go through all
 * of them for the others.
 */
function indexOf({ status, handler, unread, assignee, team, label, wrote }: ThreadQuery): string | undefined {
  const isRare = [handler, unread, label].some((one) => one !== undefined)
  const isOfSome = [assignee, team].some((one) => one !== undefined && one !== 'none')
  if (isRare || isOfSome) return undefined
  if (wrote === 'true') return WRITTEN_INDEX
  return status === 'open' ? STATUS_INDEX : undefined
}

function filterOf({
  channel,
  handler,
  unread,
  status,
  assignee,
  team,
  label,
  wrote,
}: ThreadQuery): mongo.Filter<ThreadRecord> {
  const now = new Date()
  return {
    ...(channel === undefined ? {} : { channel }),
    ...(unread === undefined ? {} : { unread: unread === 'true' ? { $gt: 0 } : 0 }),
    ...(label === undefined ? {} : { labels: label }),
    ...(wrote === undefined ? {} : { lastInboundAt: { $exists: wrote === 'true' } }),
    ...(assignee === undefined ? {} : { 'assignee._id': isOneOf(assignee) }),
    ...(team === undefined ? {} : { 'team._id': isOneOf(team) }),
    $and: [
      handler === undefined ? {} : handledBy(handler, now),
      status === undefined ? (wrote === 'true' ? WITH_ANY_STATUS : {}) : withStatus(status, now),
    ],
  }
}

const isOneOf = (ids: string): mongo.Condition<number> =>
  ids === 'none' ? { $exists: false } : { $in: ids.split(',').map(Number) }

/** As the sequences of an index, which the database merges. */
const WITH_ANY_STATUS = {
  'closed.status': { $in: [null, 'resolved', 'snoozed'] } as mongo.Condition<'resolved' | 'snoozed'>,
}

function withStatus(status: NonNullable<ThreadQuery['status']>, now: Date): mongo.Filter<ThreadRecord> {
  if (status === 'open')
    return {
      // Both in the sequence of the index, which the database merges.
      'closed.status': { $in: [null, 'snoozed'] } as mongo.Condition<'snoozed'>,
      $or: [{ closed: null }, { 'closed.until': { $lte: now } }],
    }
  if (status === 'resolved') return { 'closed.status': status }
  return { 'closed.status': status, 'closed.until': { $gt: now } }
}

function handledBy(handler: ThreadRecord['handler'], now: Date): mongo.Filter<ThreadRecord> {
  const hasEnded = { handlerUntil: { $lte: now } }
  return handler === 'person' ? { handler, $nor: [hasEnded] } : { $or: [{ handler }, hasEnded] }
}

function beyondOf([at, _id]: z.output<typeof position>): mongo.Filter<ThreadRecord> {
  const lastAt = new Date(at)
  // The first is implied by the second, which the database can't begin at.
  return { lastAt: { $lte: lastAt }, $or: [{ lastAt: { $lt: lastAt } }, { _id: { $lt: _id } }] }
}
