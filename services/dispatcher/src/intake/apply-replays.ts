import type { MessageRecord } from '../message/message-record.ts'
import { isReplayable, replayed } from '../message/replayed.ts'
import type { Collections } from '../store/collections.ts'

/** The request to run a message again, and its place among what arrives. */
export interface Replay {
  workspace: number
  messageId: string
  order: number
}

/**
 * Opens the messages that are to run again, and returns those that are open now, also when an earlier attempt
 * with the same replays opened them. What may not be replayed any more stays as it is.
 */
export async function applyReplays(
  messages: Collections['messages'],
  replays: Replay[],
): Promise<MessageRecord[]> {
  if (replays.length === 0) return []
  const orders = new Map(replays.map(({ messageId, order }) => [messageId, order]))
  const filter = { $or: replays.map(({ messageId, workspace }) => ({ _id: messageId, workspace })) }
  const found = await messages.find(filter).toArray()
  const opening = found.filter(isReplayable).map((record) => {
    const next = replayed(record, { at: new Date(), order: orders.get(record._id) ?? record.order })
    return { replaceOne: { filter: { _id: record._id, revision: record.revision }, replacement: next } }
  })
  if (opening.length > 0) await messages.bulkWrite(opening, { ordered: false })
  return messages.find({ ...filter, open: true }, { projection: { body: 0 } }).toArray()
}
