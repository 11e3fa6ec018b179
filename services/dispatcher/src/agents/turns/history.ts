import type { WebhookMessage } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Collections } from '../../store/collections.ts'
import type { ConversationItem } from '../conversation.ts'
import { itemsOf, tokensOf } from './conversation-items.ts'

/** A larger body has media in it, which is not read for the history. */
const MAX_BODY_BYTES = 64 * 1024
/** A thread may have other channels; of all its messages so many times the limit are looked at. */
const LOOKED_AT = 4
const PAGE = 20
const QUERY_MS = 5_000

/** Reads the conversation before a message, oldest first. Rejects when the database is unavailable. */
export type ReadHistory = (
  record: MessageRecord,
  limits: { historyTokens: number; historyLimit: number },
) => Promise<ConversationItem[]>

type Earlier = Pick<
  MessageRecord,
  | '_id'
  | 'channel'
  | 'receivedAt'
  | 'order'
  | 'partition'
  | 'turns'
  | 'sends'
  | 'transcript'
  | 'source'
  | 'takenOver'
> & {
  body: string | null
}

/**
 * The last messages of the thread on its channel, as many as fit: whole ones, at most `historyLimit`, until the next
 * one would exceed `historyTokens`. It walks the index by thread and time backwards, so that it costs the same among
 * any number of messages.
 */
export function createReadHistory({ messages }: Pick<Collections, 'messages'>): ReadHistory {
  return async (record, { historyTokens, historyLimit }) => {
    if (historyLimit === 0 || historyTokens === 0) return []
    const spoken: { earlier: Earlier; items: ConversationItem[] }[] = []
    let tokens = 0
    for await (const earlier of earlierMessages(messages, record, historyLimit * LOOKED_AT)) {
      if (!isBefore(earlier, record)) continue
      const { body } = earlier
      const message = body === null ? undefined : (jsonOrUndefined(body) as WebhookMessage | undefined)
      const items = itemsOf({ ...earlier, message })
      tokens += tokensOf(items)
      if (tokens > historyTokens) break
      spoken.push({ earlier, items })
      if (spoken.length === historyLimit) break
    }
    return spoken.sort((a, b) => bySequence(a.earlier, b.earlier)).flatMap(({ items }) => items)
  }
}

function earlierMessages(
  messages: Collections['messages'],
  { workspace, thread, receivedAt }: MessageRecord,
  limit: number,
) {
  return messages.aggregate<Earlier>(
    [
      { $match: { workspace, thread, receivedAt: { $lte: receivedAt } } },
      { $sort: { receivedAt: -1, _id: -1 } },
      { $limit: limit },
      {
        $project: {
          channel: 1,
          receivedAt: 1,
          order: 1,
          partition: 1,
          turns: 1,
          sends: 1,
          transcript: 1,
          source: 1,
          takenOver: 1,
          body: { $cond: [{ $lte: [{ $strLenBytes: '$body' }, MAX_BODY_BYTES] }, '$body', null] },
        },
      },
    ],
    { batchSize: PAGE, maxTimeMS: QUERY_MS },
  )
}

/** Of what came in the same moment, what is to be worked later does not belong to it. */
function isBefore(earlier: Earlier, { _id, channel, order, partition }: MessageRecord): boolean {
  if (earlier._id === _id || earlier.channel !== channel) return false
  return earlier.partition !== partition || earlier.order < order
}

/** The index says nothing of the sequence of what came in the same millisecond. */
function bySequence(a: Earlier, b: Earlier): number {
  return a.receivedAt.getTime() - b.receivedAt.getTime() || a.order - b.order
}
