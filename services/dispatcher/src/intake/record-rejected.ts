import type { ConsumeMessage } from 'amqplib'
import type { Collections } from '../store/collections.ts'

// Longer than the log stream is kept: whoever counts the log comes to it within that time.
const RETENTION_MS = 8 * 24 * 60 * 60 * 1_000

/** Writes the id of a message down before it goes to the rejected ones, so that it can be counted there. */
export async function recordRejected(
  rejected: Collections['rejected'],
  { delivery, reason }: { delivery: Pick<ConsumeMessage, 'properties'>; reason: string },
): Promise<void> {
  const { messageId } = delivery.properties
  if (typeof messageId !== 'string') return
  const at = new Date()
  const rejection = { reason, at, expiresAt: new Date(at.getTime() + RETENTION_MS) }
  await rejected.updateOne({ _id: messageId }, { $set: rejection }, { upsert: true })
}
