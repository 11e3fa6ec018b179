import type { MessageState } from '../message/message-record.ts'

/**
 * Where an accepted message is: in the store, among the rejected ones, or neither. One that was erased is counted like a
 * stored one, and never looked for.
 */
export type Place = 'stored' | 'rejected' | 'missing' | 'erased'

/** The id of an accepted message, from the log stream; counted once, however often the log has it. */
export interface AuditedMessage {
  _id: string
  /** Null where the message does not say whose it is. */
  workspace: number | null
  channel: string
  /** The hour it counts in: in which it was stored, else in which it was accepted. */
  hour: Date
  place: Place
  /** Of a message that is not in the store. */
  trace?: MissingTrace
}

/** The values that find a message again that is not in the store. */
export interface MissingTrace {
  /** Of its thread; versions without slots have written the partition of eight, which is the slot of the same number. */
  slot?: number
  partition?: number
  /** Its place in the log stream. */
  offset: number
  acceptedAt: Date
  /** When its slot's queue was seen empty without it having been stored. */
  emptyAt?: Date
  /** How often it was published again. */
  published: number
}

/** A message that the dispatcher could not store. */
export interface UnreadableMessage {
  _id: string
  reason: string
  at: Date
  expiresAt: Date
}

/** How far the log has been read, and what was found. */
export interface AuditState {
  _id: 'log'
  /** The term of the lease under which this was written. */
  term: number
  /** The last entry read: its offset, its message and when that was accepted. */
  offset?: number
  messageId?: string
  acceptedAt?: Date
  /** Up to when all that was accepted had been read when the auditor last looked. */
  readUpTo?: Date
  /** How many accepted messages are nowhere, and when that was counted. */
  difference?: number
  checkedAt?: Date
}

/** The counts of an hour whose messages were removed since. */
export interface RemovedHour {
  _id: { workspace: number | null; channel: string; hour: Date }
  workspace: number | null
  channel: string
  hour: Date
  /** Audited ids, by the place they were at. */
  places: Partial<Record<Place, number>>
  /** Messages, by the state they ended in. */
  states: Partial<Record<MessageState, number>>
}

const HOUR_MS = 60 * 60 * 1_000

/** The beginning of the hour (UTC). */
export const hourOf = (date: Date): Date => new Date(Math.floor(date.getTime() / HOUR_MS) * HOUR_MS)
