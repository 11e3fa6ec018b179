import type { WebhookMessage } from '@parley/shared/message'
import type { MessageRecord } from './message-record.ts'

/** When its caller wants a message to leave, in milliseconds since the epoch; undefined for at once. */
export function sendAtOf(
  { source }: Pick<MessageRecord, 'source'>,
  message: WebhookMessage,
): number | undefined {
  const { sendAt } = message as { sendAt?: unknown }
  if (source !== 'api' || typeof sendAt !== 'string') return undefined
  const at = Date.parse(sendAt)
  return Number.isNaN(at) ? undefined : at
}

type Stands = Pick<MessageRecord, 'state' | 'revision' | 'waitingFor'>

/** It was taken, and nothing was done with it yet. */
export const isNew = ({ state, revision }: Stands): boolean => state === 'received' && revision === 0

/** It is written that it waits for its time. */
export const isScheduled = ({ state, waitingFor }: Stands): boolean =>
  state === 'received' && waitingFor === 'schedule'
