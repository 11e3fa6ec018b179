import type { Connection, mongo } from 'mongoose'

/** Where a recipient stands: not yet sent, or as their message is, or left out. */
export const RECIPIENT_STATES = [
  'waiting',
  'claimed',
  'posted',
  /** Posted, and tried again so much later that others need not wait for it. */
  'deferred',
  'sent',
  'delivered',
  'read',
  'failed',
  'dead',
  'left_out',
] as const
type RecipientState = (typeof RECIPIENT_STATES)[number]

/** Those that are still to come. */
export const TO_COME: readonly RecipientState[] = ['waiting', 'claimed', 'posted', 'deferred']

/** Why somebody of the audience gets no message. */
export const LEFT_OUT_REASONS = [
  'no_address',
  'no_consent',
  'opted_out',
  'holdout',
  'missing_variable',
  'frequency_cap',
  'erased',
  /** They turned out to be another person of the audience. */
  'joined',
  'ended',
  'cancelled',
  'budget',
  'invalid',
] as const
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number]

/** One person of a campaign's audience. */
export interface RecipientRecord {
  /** Campaign and person: there is one of each. */
  _id: string
  workspace: number
  campaign: string
  person: string
  state: RecipientState
  reason?: string
  /** Not sent before. */
  due: Date
  /** Of the claim that is being sent, or was. */
  claim?: string
  claimedAt?: Date
  postedAt?: Date
  /** When its message is looked at next; missing once nothing more is expected. */
  checkAt?: Date
  checks?: number
  /** When its message was changed last, as it was read. */
  messageAt?: Date
  /** The provider's or our own code of why it failed, and what that means for what is sent next. */
  code?: string
  cause?: string
  category?: string
  billable?: boolean
  repliedAt?: Date
  optedOutAt?: Date
  updatedAt: Date
}

/** The recipients of all campaigns. */
export const recipientsOf = (connection: Connection): mongo.Collection<RecipientRecord> =>
  connection.collection('recipients') as unknown as mongo.Collection<RecipientRecord>

/** The prefix that replaces the person of a recipient who was erased. */
export const ERASED = 'erased-'

export const recipientId = (campaign: string, person: string): string => `${campaign}/${person}`
