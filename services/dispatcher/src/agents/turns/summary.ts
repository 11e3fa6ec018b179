import type { MessageRecord } from '../../message/message-record.ts'
import { type ThreadSummary, threadId } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'
import type { ConversationItem } from '../model-client.ts'
import { dataItem } from './conversation-items.ts'
import { CHARACTERS_PER_TOKEN, type Exchange, shortestOf } from './fit-history.ts'

const QUERY_MS = 5_000

/** How much of a conversation a model is given. */
interface Size {
  historyTokens: number
  historyLimit: number
}

/** Returns the summary of earlier messages; undefined where there is none, or where it reaches beyond the message. */
export async function readSummary(
  threads: Pick<Collections['threads'], 'findOne'>,
  {
    workspace,
    channel,
    thread,
    receivedAt,
  }: Pick<MessageRecord, 'workspace' | 'channel' | 'thread' | 'receivedAt'>,
): Promise<ThreadSummary | undefined> {
  const found = await threads.findOne(
    { _id: threadId({ workspace, channel, extId: thread }) },
    { projection: { summary: 1 }, maxTimeMS: QUERY_MS },
  )
  const summary = found?.summary
  return summary !== undefined && summary.until < receivedAt ? summary : undefined
}

/** Returns the item for a model, before the messages that follow. */
export const summaryItem = ({ text }: ThreadSummary): ConversationItem =>
  dataItem({ summaryOfEarlierMessages: text })

/** The tokens that a summary leaves to the messages after it. */
export const tokensAfter = (summary: ThreadSummary | undefined, { historyTokens }: Size): number =>
  historyTokens - Math.ceil((summary?.text.length ?? 0) / CHARACTERS_PER_TOKEN)

/**
 * Which exchanges are to be summarised, the oldest first: none as long as all fit, else all but those that fill half of the
 * room, so that it is not done again for every message. The newest stays, and what is answered with the message.
 */
export function outgoingOf<T extends Exchange>(exchanges: readonly T[], size: Size): T[] {
  const own = exchanges.filter(({ isRequired = false }) => !isRequired)
  if (countFitting(own, size) === own.length) return []
  const half = { historyTokens: size.historyTokens / 2, historyLimit: Math.floor(size.historyLimit / 2) }
  return own.slice(0, own.length - Math.max(1, countFitting(own, half)))
}

/** How many of the newest fit in their shortest form. */
function countFitting(exchanges: readonly Exchange[], { historyTokens, historyLimit }: Size): number {
  let left = historyTokens * CHARACTERS_PER_TOKEN
  const before = exchanges.findLastIndex(({ items }, position) => {
    left -= shortestOf(items)
    return left < 0 || exchanges.length - position > historyLimit
  })
  return exchanges.length - 1 - before
}
