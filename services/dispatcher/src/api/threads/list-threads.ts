import { cursorOf, pageLimit } from '@parley/shared/list-query'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { phoneAddress, phoneDigits } from '../../message/addresses.ts'
import { MOST_LABELS, searchWords, type ThreadRecord } from '../../message/thread-record.ts'
import {
  ADDRESS_INDEX,
  type Collections,
  PHONE_INDEX,
  STATUS_INDEX,
  WORDS_INDEX,
} from '../../store/collections.ts'
import type { VisibleThreads } from './find-thread.ts'

/** So many of the threads that have the rarest of the words are looked at, those with the newest activity where the word is whole. */
const MAX_EXAMINED = 10_000

/** So many of those that have all words are sorted. */
const MAX_FOUND = 1_000

/** Where a page ended: when something happened in its last thread, in milliseconds since the epoch, and its stored id. */
const position = z.tuple([z.number().int().min(0).max(8.64e15), z.string().min(1).max(16_384)])
const MAX_LABEL = 64
const channel = z.string().max(1_024).optional()

/** One word or a few. */
const threadLabel = z.string().trim().min(1).max(MAX_LABEL)
export const threadLabels = z
  .array(threadLabel)
  .max(MOST_LABELS)
  .transform((labels) => [...new Set(labels)])

/** What threads are listed by. */
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
  label: threadLabel.optional().describe('A label that they have'),
  q: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      'Words of the name, of the last one the beginning, or the beginning of the phone number; 10,000 threads with the rarest of the words are looked at, and 1,000 that have all of them sorted, at most',
    ),
  limit: pageLimit,
  after: cursorOf(position).optional(),
})
type ThreadQuery = z.output<typeof threadQuery>

/** Of a thread whose `extId` several channels have. */
export const channelQuery = z.object({
  channel: channel.describe('The external id of its channel, where several have a thread of that `extId`'),
})

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
  return listed(threads, visible, asked).toArray()
}

/** The list without a search, as the database reads it. */
export function listed(threads: Collections['threads'], visible: VisibleThreads, asked: ThreadQuery) {
  const beyond = asked.after === undefined ? {} : beyondOf(asked.after)
  return threads
    .find(
      { $and: [visible, filterOf(asked), beyond] },
      { maxTimeMS: QUERY_MS, ...(isOfAllOpen(asked) && { hint: STATUS_INDEX }) },
    )
    .sort(LATEST)
    .limit(asked.limit + 1)
}

/** Nearly all threads are resolved in the end: by their activity the database would go through all of them for the open ones. */
const isOfAllOpen = ({ status, handler, unread, assignee, label }: ThreadQuery): boolean =>
  status === 'open' &&
  [handler, unread, label].every((one) => one === undefined) &&
  (assignee === undefined || assignee === 'none')

function filterOf({
  channel,
  handler,
  unread,
  status,
  assignee,
  label,
}: ThreadQuery): mongo.Filter<ThreadRecord> {
  const now = new Date()
  return {
    ...(channel === undefined ? {} : { channel }),
    ...(unread === undefined ? {} : { unread: unread === 'true' ? { $gt: 0 } : 0 }),
    ...(label === undefined ? {} : { labels: label }),
    ...(assignee === undefined
      ? {}
      : { 'assignee._id': assignee === 'none' ? { $exists: false } : Number(assignee) }),
    $and: [
      handler === undefined ? {} : handledBy(handler, now),
      status === undefined ? {} : withStatus(status, now),
    ],
  }
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

type Filter = mongo.Filter<ThreadRecord>

/** One thing that a thread is to have, and the index that knows which do. */
interface Term {
  filter: Filter
  index: mongo.IndexSpecification
}

/**
 * The threads that match a text: by its digits as the beginning of a phone number, or by whole words of the name and
 * the beginning of its last. The database reads those with the rarest of the words by its index, and the rest of the
 * words from them: by itself it takes the beginning, which everybody may have.
 */
async function searchThreads(
  threads: Collections['threads'],
  options: {
    workspace: number
    filter: Filter
    text: string
    page: { beyond: Filter; sort: { lastAt: -1; _id: -1 }; limit: number }
  },
): Promise<ThreadRecord[]> {
  const { workspace, text } = options
  const digits = /^[\d\s()+./-]+$/.test(text) ? phoneDigits(text) : undefined
  if (digits !== undefined) return searchByPhone(threads, options, digits)
  const terms = termsOf(text)
  const rarest = await rarestOf(threads, workspace, terms)
  if (rarest === undefined) return []
  const others = terms.flatMap((term) => (term === rarest ? [] : [term.filter]))
  return readBy(threads, options, { rarest, others })
}

type SearchOptions = Parameters<typeof searchThreads>[1]

/** Of addresses, and among the threads that an earlier version wrote last. */
async function searchByPhone(
  threads: Collections['threads'],
  options: SearchOptions,
  digits: string,
): Promise<ThreadRecord[]> {
  const terms: Term[] = [
    { filter: { addresses: { $elemMatch: beginningWith(phoneAddress(digits)) } }, index: ADDRESS_INDEX },
    { filter: { phone: beginningWith(digits) }, index: PHONE_INDEX },
  ]
  const found = await Promise.all(terms.map((rarest) => readBy(threads, options, { rarest, others: [] })))
  const byId = new Map(found.flat().map((thread) => [thread._id, thread]))
  return [...byId.values()].sort(byLatest).slice(0, options.page.limit)
}

const byLatest = (one: ThreadRecord, other: ThreadRecord): number =>
  other.lastAt.getTime() - one.lastAt.getTime() || (one._id < other._id ? 1 : -1)

function readBy(
  threads: Collections['threads'],
  { filter, page }: SearchOptions,
  { rarest, others }: { rarest: Term; others: Filter[] },
): Promise<ThreadRecord[]> {
  const stages = [
    { $match: { $and: [filter, rarest.filter] } },
    { $limit: MAX_EXAMINED },
    ...others.map((other) => ({ $match: other })),
    { $limit: MAX_FOUND },
    { $match: page.beyond },
    { $sort: page.sort },
    { $limit: page.limit },
  ]
  return threads.aggregate<ThreadRecord>(stages, { maxTimeMS: QUERY_MS, hint: rarest.index }).toArray()
}

/** Whole words first. */
function termsOf(text: string): Term[] {
  const words = searchWords(text)
  return words.map((word, position) => {
    const isLast = position === words.length - 1
    return { filter: { words: isLast ? { $elemMatch: beginningWith(word) } : word }, index: WORDS_INDEX }
  })
}

function beginningWith(text: string): { $gte: string; $lt: string } {
  return { $gte: text, $lt: `${text}\u{10FFFF}` }
}

/** The term that the fewest threads have, counted as far as {@link MAX_FOUND}; the first of those that many have. */
async function rarestOf(
  threads: Collections['threads'],
  workspace: number,
  terms: Term[],
): Promise<Term | undefined> {
  if (terms.length < 2) return terms[0]
  const counts = await Promise.all(
    terms.map(({ filter, index }) =>
      threads.countDocuments(
        { workspace, ...filter },
        { limit: MAX_FOUND, maxTimeMS: QUERY_MS, hint: index as mongo.Document },
      ),
    ),
  )
  return terms[counts.indexOf(Math.min(...counts))]
}
