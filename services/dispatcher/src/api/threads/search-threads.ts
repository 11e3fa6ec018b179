import type { mongo } from 'mongoose'
import { phoneAddress, phoneDigits } from '../../message/addresses.ts'
import { SAID_FIELDS, type SaidMessage, saidTexts } from '../../message/said-texts.ts'
import { excerptAround, isPartOfNumber, searchWords } from '../../message/search-words.ts'
import { type ThreadRecord, threadId } from '../../message/thread-record.ts'
import {
  ADDRESS_INDEX,
  type Collections,
  MESSAGE_WORDS_INDEX,
  PHONE_ENDS_INDEX,
  PHONE_INDEX,
  WORDS_INDEX,
} from '../../store/collections.ts'

/** So many of the threads that have the rarest of the words are looked at, those with the newest activity where the word is whole. */
const MAX_EXAMINED = 10_000
/** So many of the messages that have the rarest of the words, the newest where it is whole. */
const MAX_MESSAGES = 5_000
/** So many threads are sorted. */
const MAX_FOUND = 1_000
const QUERY_MS = 5_000

type Filter = mongo.Filter<ThreadRecord>
type Searched = Pick<Collections, 'threads' | 'messages' | 'messageWords'>

interface Search {
  workspace: number
  /** The threads that may be found. */
  filter: Filter
  text: string
  page: { beyond: Filter; sort: { lastAt: -1; _id: -1 }; limit: number }
}

/** The message that a thread is found by. */
export interface FoundMessage {
  message: string
  at: Date
}

export type FoundThread = ThreadRecord & { found?: FoundMessage }

/** One thing that is searched for, and the index that knows who has it. */
interface Term {
  filter: mongo.Filter<mongo.BSON.Document>
  index: mongo.IndexSpecification
}

/**
 * The threads of people whose number has these digits, where the text is of digits; else of those whose name has its
 * words, of the last one the beginning. Those with the newest activity first.
 */
export async function searchPeople({ threads }: Searched, search: Search): Promise<ThreadRecord[]> {
  const alternatives = personTerms(search.text)
  const pages = await Promise.all(
    alternatives.map(async (terms) => {
      const { first, others } = await rarestFirst(threads, search.workspace, { terms, most: MAX_FOUND })
      return first === undefined ? [] : readBy(threads, search, { rarest: first, others })
    }),
  )
  const byId = new Map(pages.flat().map((thread) => [thread._id, thread]))
  return [...byId.values()].sort(byLatest).slice(0, search.page.limit)
}

/** Each has the terms of which a thread has all. */
function personTerms(text: string): Term[][] {
  const digits = /^[\d\s()+./-]+$/.test(text) ? phoneDigits(text) : undefined
  if (digits === undefined) return [wordTerms(text, WORDS_INDEX)]
  const part = { filter: { phoneEnds: { $elemMatch: beginningWith(digits) } }, index: PHONE_ENDS_INDEX }
  return [
    ...(isPartOfNumber(digits) ? [[part]] : []),
    [{ filter: { addresses: { $elemMatch: beginningWith(phoneAddress(digits)) } }, index: ADDRESS_INDEX }],
    // Of threads that an earlier version wrote last.
    [{ filter: { phone: beginningWith(digits) }, index: PHONE_INDEX }],
  ]
}

/** The threads in which a message has all words of the text, of the last one the beginning, without those of {@link searchPeople}. */
export async function searchMessages(collections: Searched, search: Search): Promise<FoundThread[]> {
  const { threads } = collections
  const { filter, text, page } = search
  const found = await messagesOfThreads(collections, search)
  if (found.size === 0) return []
  const people = personTerms(text).map((terms) => ({ $and: terms.map((term) => term.filter as Filter) }))
  const of: Filter = { $and: [{ _id: { $in: [...found.keys()] } }, filter, page.beyond, { $nor: people }] }
  const read = await threads.find(of, { maxTimeMS: QUERY_MS }).sort(page.sort).limit(page.limit).toArray()
  return read.map((thread) => {
    const message = found.get(thread._id)
    return message === undefined ? thread : { ...thread, found: message }
  })
}

/** The newest message of each thread that has the words, by the id of the thread that it goes on in. */
async function messagesOfThreads(
  { threads, messageWords }: Searched,
  { workspace, text }: Search,
): Promise<Map<string, FoundMessage>> {
  const terms = wordTerms(text, MESSAGE_WORDS_INDEX)
  const { first, others } = await rarestFirst(messageWords, workspace, { terms, most: MAX_MESSAGES })
  if (first === undefined) return new Map()
  const stages = [
    { $match: { workspace, ...first.filter } },
    { $limit: MAX_MESSAGES },
    ...others.map((other) => ({ $match: other })),
    {
      $group: {
        _id: '$thread',
        newest: { $top: { sortBy: { at: -1 }, output: { message: '$_id', at: '$at' } } },
      },
    },
    { $sort: { 'newest.at': -1, _id: -1 } },
    { $limit: MAX_FOUND },
  ]
  const found = await messageWords
    .aggregate<{ _id: string; newest: FoundMessage }>(stages, { maxTimeMS: QUERY_MS, hint: first.index })
    .toArray()
  const _id = { $in: found.map((one) => one._id) }
  const marks = await threads
    .find({ _id, joinedInto: { $exists: true } }, { maxTimeMS: QUERY_MS })
    .project<Pick<ThreadRecord, '_id' | 'channel' | 'joinedInto'>>({ channel: 1, joinedInto: 1 })
    .toArray()
  const goingOn = new Map(
    marks.map(({ _id, channel, joinedInto: extId = '' }) => [_id, threadId({ workspace, channel, extId })]),
  )
  // Of several that go on in one the newest counts.
  return new Map(found.toReversed().map((one) => [goingOn.get(one._id) ?? one._id, one.newest]))
}

const byLatest = (one: ThreadRecord, other: ThreadRecord): number =>
  other.lastAt.getTime() - one.lastAt.getTime() || (one._id < other._id ? 1 : -1)

/** The terms of a text, whole words first. */
function wordTerms(text: string, index: mongo.IndexSpecification): Term[] {
  const words = searchWords(text)
  return words.map((word, position) => {
    const isLast = position === words.length - 1
    return { filter: { words: isLast ? { $elemMatch: beginningWith(word) } : word }, index }
  })
}

function beginningWith(text: string): { $gte: string; $lt: string } {
  return { $gte: text, $lt: `${text}\u{10FFFF}` }
}

/**
 * The database reads what has the rarest of the words by its index, and the rest of the words from that: by itself it takes
 * the beginning, which everybody may have.
 */
function readBy(
  threads: Collections['threads'],
  { filter, page }: Search,
  { rarest, others }: { rarest: Term; others: Term['filter'][] },
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

/** The term that the fewest have, counted as far as `most`, or the first of those that as many have; and what else is to match. */
async function rarestFirst<T extends mongo.BSON.Document>(
  collection: mongo.Collection<T>,
  workspace: number,
  { terms, most }: { terms: Term[]; most: number },
): Promise<{ first: Term | undefined; others: Term['filter'][] }> {
  const countOf = ({ filter, index }: Term) =>
    collection.countDocuments({ workspace, ...filter } as unknown as mongo.Filter<T>, {
      ...{ limit: most, maxTimeMS: QUERY_MS, hint: index as mongo.Document },
    })
  const counts = terms.length < 2 ? [0] : await Promise.all(terms.map(countOf))
  const first = terms[counts.indexOf(Math.min(...counts))]
  return { first, others: terms.flatMap((term) => (term === first ? [] : [term.filter])) }
}

/** Returns the text around the words in each found message, by message id. A message that is gone has none. */
export async function excerptsOf(
  { messages }: Pick<Collections, 'messages'>,
  { found, text }: { found: readonly FoundThread[]; text: string },
): Promise<Map<string, string>> {
  const ids = found.flatMap((thread) => thread.found?.message ?? [])
  if (ids.length === 0) return new Map()
  const read = await messages
    .aggregate<SaidMessage>([{ $match: { _id: { $in: ids } } }, { $project: SAID_FIELDS }], {
      maxTimeMS: QUERY_MS,
    })
    .toArray()
  const words = searchWords(text)
  return new Map(read.map((message) => [message._id, excerptAround(saidTexts(message).join('\n'), words)]))
}
