import type { MessageRecord, MessageState } from '../message/message-record.ts'
import { ranAgainAt } from '../message/replayed.ts'
import type { Metrics } from './metrics.ts'

const SENT = new Set<MessageState>(['sent', 'delivered', 'read', 'done'])
const DELIVERED = new Set<MessageState>(['delivered', 'read'])

/**
 * Observes how long a message took when it goes from one state to another. One that was run again is left out: when
 * that was asked for says nothing about us.
 */
export function observeArrival(
  metrics: Pick<Metrics, 'sent' | 'delivered'>,
  record: Pick<MessageRecord, 'timeline' | 'receivedAt' | 'acceptedAt'>,
  { from, to, at }: { from: MessageState; to: MessageState; at: number },
): void {
  if (ranAgainAt(record) > 0) return
  const seconds = Math.max(0, at - (record.acceptedAt ?? record.receivedAt).getTime()) / 1_000
  if (SENT.has(to) && !SENT.has(from)) metrics.sent(seconds)
  if (DELIVERED.has(to) && !DELIVERED.has(from)) metrics.delivered(seconds)
}
