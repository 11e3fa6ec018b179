import type { WebhookMessage } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { mongo } from 'mongoose'
import type { ReadQuoted } from '../../conversations/quoted-messages.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import { isSilent, receivedContent } from '../../message/received-content.ts'
import { ofThread, type ThreadSummary } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'
import { createReadList, type ReadList } from '../../store/read-list.ts'
import type { ConversationItem } from '../model-client.ts'
import { itemsOf, type Spoken } from './conversation-items.ts'
import { CHARACTERS_PER_TOKEN, type Exchange, fitHistory, shortestOf } from './fit-history.ts'
import { MAX_GATHERED } from './gathering.ts'
import { readSummary, summaryItem, tokensAfter } from './summary.ts'

/** A larger body has media in it, which is not read for the history. */
const MAX_BODY_BYTES = 64 * 1024
/** A thread may have other channels; of all its messages so many times the limit are looked at. */
const LOOKED_AT = 4
const PAGE = 20
/** The longest time before a message at which one gathered into it can have come, in milliseconds. */
const LONGEST_GATHERING_MS = 90_000
/** Together they may have 20 MiB. */
const PAGES_AT_ONCE = 16
const QUERY_MS = 5_000

/** How much is read of a conversation. */
export interface HistoryLimits {
  historyTokens: number
  historyLimit: number
  /** True if a summary stands for the older messages. */
  summarises?: boolean
  /** Only these are read, without what they quote and without a summary. */
  visible?: mongo.Filter<MessageRecord> | undefined
}

/** Reads the conversation before a message, oldest first. Rejects when the database is unavailable. */
export type ReadHistory = (record: MessageRecord, limits: HistoryLimits) => Promise<ConversationItem[]>

/** The messages of a conversation before a message, and after a place in it, oldest first; somewhat more than fit. */
export type ReadExchanges = (
  record: MessageRecord,
  limits: HistoryLimits & { after?: Pick<ThreadSummary, 'until' | 'order'> | undefined },
) => Promise<ReadMessage[]>

type Earlier = Pick<
  MessageRecord,
  | '_id'
  | 'channel'
  | 'receivedAt'
  | 'order'
  | 'partition'
  | 'transcript'
  | 'source'
  | 'takenOver'
  | 'gatheredInto'
  | 'changed'
  | 'reason'
> &
  Spoken & {
    body: string | null
  }

interface ReadMessage extends Exchange {
  earlier: Earlier
  message: WebhookMessage | undefined
}

/**
 * The last messages of the thread on its channel, as many as fit: at most `historyLimit`, in `historyTokens` (by
 * `fitHistory`), behind the summary of those before. What is gathered into the message is answered with it, and is there
 * in any case.
 */
export function createReadHistory(
  { threads }: Pick<Collections, 'threads'>,
  readExchanges: ReadExchanges,
): ReadHistory {
  return async (record, limits) => {
    const { summarises = false, visible } = limits
    const summary = summarises && visible === undefined ? await readSummary(threads, record) : undefined
    const exchanges = await readExchanges(record, { ...limits, after: summary })
    const fitting = fitHistory(exchanges, tokensAfter(summary, limits)).flatMap(({ items }) => items)
    return summary === undefined ? fitting : [summaryItem(summary), ...fitting]
  }
}

/** It walks the index by thread and time backwards, so that it costs the same among any number of messages. */
export function createReadExchanges(
  { messages }: Pick<Collections, 'messages'>,
  readQuoted: ReadQuoted,
): ReadExchanges {
  const readPage = createReadList<Earlier>(messages, { listsAtOnce: PAGES_AT_ONCE, queryMs: QUERY_MS })
  return async (record, { historyTokens, historyLimit, visible, after }) => {
    const spoken: ReadMessage[] = []
    let room = historyTokens * CHARACTERS_PER_TOKEN
    let left = historyLimit
    const limit = Math.max(historyLimit, MAX_GATHERED) * LOOKED_AT
    for await (const earlier of earlierMessages(readPage, record, { limit, visible })) {
      const isFull = left === 0 || room <= 0 || (after !== undefined && !isAfter(earlier, after))
      const ago = record.receivedAt.getTime() - earlier.receivedAt.getTime()
      if (isFull && ago > LONGEST_GATHERING_MS) break
      if (!isBefore(earlier, record) || isSilent(earlier)) continue
      const isRequired = earlier.gatheredInto === record._id
      if (isFull && !isRequired) continue
      const { body } = earlier
      const message = body === null ? undefined : (jsonOrUndefined(body) as WebhookMessage | undefined)
      const items = itemsOf({ ...earlier, message })
      if (items.length === 0) continue
      if (!isRequired) {
        room -= shortestOf(items)
        left--
      }
      spoken.push({ earlier, message, items, isRequired })
    }
    const inSequence = spoken.sort((a, b) => bySequence(a.earlier, b.earlier))
    return visible === undefined ? withQuotes(readQuoted, record, inSequence) : inSequence
  }
}

/** Adds the quoted messages, which may be older than those that fit. */
async function withQuotes(
  readQuoted: ReadQuoted,
  record: MessageRecord,
  spoken: ReadMessage[],
): Promise<ReadMessage[]> {
  const replies = new Map(
    spoken.flatMap(({ earlier, message }) => {
      const id = message && receivedContent(message, earlier.source)?.repliesTo
      return id === undefined ? [] : [[earlier, id] as const]
    }),
  )
  const [first] = replies.keys()
  if (first === undefined) return spoken
  const quotes = await readQuoted({ ...record, source: first.source }, [...replies.values()])
  return spoken.map((one) => {
    const quoted = quotes.get(replies.get(one.earlier) ?? '')
    return quoted === undefined
      ? one
      : { ...one, items: itemsOf({ ...one.earlier, message: one.message, quoted }) }
  })
}

/** The latest first, at most `limit`, page by page. */
async function* earlierMessages(
  readPage: ReadList<Earlier>,
  { workspace, thread: extId, joined, receivedAt }: MessageRecord,
  { limit, visible }: { limit: number; visible: mongo.Filter<MessageRecord> | undefined },
): AsyncGenerator<Earlier> {
  const thread = ofThread({ extId, joined })
  let until = receivedAt
  let sameMoment: string[] = []
  for (let left = limit; left > 0; left -= PAGE) {
    const page = await readPage({
      match: {
        ...{ workspace, thread, receivedAt: { $lte: until }, _id: { $nin: sameMoment } },
        ...(visible && { $and: [visible] }),
      },
      sort: { receivedAt: -1, _id: -1 },
      limit: Math.min(left, PAGE),
      project: SPOKEN,
    })
    yield* page
    const last = page.at(-1)?.receivedAt
    if (last === undefined || page.length < PAGE) return
    const ofLast = page.filter((one) => one.receivedAt.getTime() === last.getTime()).map(({ _id }) => _id)
    sameMoment = last.getTime() === until.getTime() ? [...sameMoment, ...ofLast] : ofLast
    until = last
  }
}

const SPOKEN = {
  channel: 1,
  receivedAt: 1,
  order: 1,
  partition: 1,
  ...{ 'turns.text': 1, 'turns.calls': 1 },
  ...{ 'sends.content': 1, 'sends.state': 1, 'sends.of': 1 },
  transcript: 1,
  source: 1,
  takenOver: 1,
  gatheredInto: 1,
  changed: 1,
  reason: 1,
  body: { $cond: [{ $lte: [{ $strLenBytes: '$body' }, MAX_BODY_BYTES] }, '$body', null] },
}

/** Of what came in the same moment, what is to be worked later does not belong to it. */
function isBefore(earlier: Earlier, { _id, channel, order, partition }: MessageRecord): boolean {
  if (earlier._id === _id || earlier.channel !== channel) return false
  return earlier.partition !== partition || earlier.order < order
}

const isAfter = (
  { receivedAt, order }: Earlier,
  { until, order: last }: Pick<ThreadSummary, 'until' | 'order'>,
): boolean => receivedAt > until || (receivedAt.getTime() === until.getTime() && order > last)

/** The index says nothing of the sequence of what came in the same millisecond. */
function bySequence(a: Earlier, b: Earlier): number {
  return a.receivedAt.getTime() - b.receivedAt.getTime() || a.order - b.order
}
