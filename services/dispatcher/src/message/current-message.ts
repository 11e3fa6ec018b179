import type { WebhookMessage } from '@parley/shared/message'
import type { Changed } from './message-record.ts'

/** A message as it reads now: with the text that its writer gave it later, or without what was taken back. */
export function currentMessage(message: WebhookMessage, changed: Changed | undefined): WebhookMessage {
  if (changed === undefined) return message
  if (changed.text !== undefined) return { ...message, input: changed.text }
  const { extId, user, thread, answer } = message
  return { extId, user, thread, answer }
}
