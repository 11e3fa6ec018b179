import type { WebhookMessage } from '@parley/shared/message'
import type { Channel } from '../channels.ts'
import type { Send } from '../message-record.ts'
import type { Outcome } from '../outcome.ts'

/** One thing to send to one person. */
export interface Delivery {
  channel: Channel
  messageId: string
  message: WebhookMessage
  send: Send
}

/** A way to reach the person. */
export interface Callback {
  /** Whether the other side reports later what became of a send. */
  reports: boolean
  /** Makes one attempt, within 15 s; never throws. */
  deliver(delivery: Delivery): Promise<Outcome>
}

/** The longest one attempt may take, in milliseconds. */
export const DELIVERY_MS = 15_000
