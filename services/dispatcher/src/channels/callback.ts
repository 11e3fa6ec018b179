import type { WebhookMessage } from '@parley/shared/message'
import type { PersonalContent } from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import type { Channel } from './channels.ts'
import type { MayLeave } from './http/http-client.ts'
import type { RateKeys } from './send-rate-limit/local-rate.ts'

/** One thing to send to one person. */
export interface Delivery {
  channel: Channel
  messageId: string
  message: WebhookMessage
  /** The send's id: the idempotency key, the same on every attempt. */
  id: string
  content: PersonalContent
  mayLeave: MayLeave
}

/** Sends to the person by one protocol. */
export interface Callback {
  /** True if the other side later reports the outcome of a send. */
  reports: boolean
  /** The longest text that one send may have, in UTF-16 code units; longer ones are several sends. */
  maxText?: number | undefined
  /** How long after a person's last message free text is taken, and by whom; at any time where it is undefined. */
  serviceWindow?: { ms: number; label: string } | undefined
  /** Returns the rates that a send counts against, where the other side has a limit. */
  rateKeys?(channel: Channel, message: WebhookMessage): RateKeys | undefined
  /** The URL that a channel's sends go to; undefined where it has none. */
  urlOf?(channel: Channel): string | undefined
  /** Makes one attempt, within 12 s; never throws. */
  deliver(delivery: Delivery): Promise<Outcome>
}

/** The longest one attempt may take, in milliseconds. */
export const DELIVERY_MS = 12_000
