import { createHash } from 'node:crypto'
import { retryDelay } from './settle.ts'

/** How many deliveries are worked under one lease is decided by their subscription. */
export const SHARDS = 8
const MAX_ATTEMPTS = 20

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const
type DeliveryState = (typeof DELIVERY_STATES)[number]

/** One post of an event that was answered, or not. */
export interface DeliveryAttempt {
  at: Date
  /** How long it took, in milliseconds. */
  ms: number
  outcome: 'accepted' | 'failed'
  /** The status of the answer, or what went wrong: `http_500`, `no_answer`, `not_reached`, `target_refused`. */
  code?: string
}

/** One event for one subscription. */
export interface Delivery {
  /** The event's `webhook-id`, the same on every attempt: it follows from subscription, record and key. */
  _id: string
  shard: number
  /** Workspace, id and time of creation: an id that was deleted and is used again is another subscription. */
  subscription: string
  workspace: number
  event: string
  /** The subject of the event, as `messages/<id>` or `assistant/12`. */
  record: string
  /** Events of one line leave in order. */
  line: string
  /** In which events were found: microseconds since the epoch, never the same twice. */
  order: number
  state: DeliveryState
  /** There while it was not tried yet. */
  fresh?: true
  /** When it is tried again. */
  due?: Date
  /** How often it was tried without success since it was made, or replayed. */
  tries: number
  /** The latest 20. */
  attempts: DeliveryAttempt[]
  /** Why it was given up. */
  reason?: string
  /** The body, as it is signed. */
  payload: string
  createdAt: Date
  expiresAt: Date
}

/** The id of an event: a crash that repeats it makes the same. */
export function deliveryId(subscription: string, record: string, key: string): string {
  const hash = createHash('sha256').update(`${subscription}\0${record}\0${key}`).digest()
  return `evt_${hash.subarray(0, 18).toString('base64url')}`
}

/** The shard that a subscription's deliveries are worked in. */
export function shardOf(subscription: string): number {
  return (createHash('sha256').update(subscription).digest()[0] ?? 0) % SHARDS
}

/** The state of a delivery's document after an attempt. */
interface DeliverySettlement {
  state: DeliveryState
  tries: number
  due?: Date
  reason?: string
}

/**
 * What becomes of a delivery after an attempt: delivered, tried again after 1 s, 5 s, 30 s, 2 min, 10 min, 1 h and 6 h, or
 * when its receiver asks for it, or failed, at once where the receiver is gone.
 */
export function settleDelivery(options: {
  tries: number
  attempt: Pick<DeliveryAttempt, 'outcome'>
  reason: string
  isGone?: boolean
  retryAfterSeconds?: number
  /** Milliseconds since the epoch. */
  now: number
}): DeliverySettlement {
  const { attempt, reason, isGone = false, retryAfterSeconds, now } = options
  if (attempt.outcome === 'accepted') return { state: 'delivered', tries: 0 }
  const tries = options.tries + 1
  if (isGone) return { state: 'failed', tries, reason }
  const delay = retryDelay(options.tries, retryAfterSeconds)
  if (delay === undefined)
    return { state: 'failed', tries, reason: `${reason} Given up after ${tries} tries.` }
  return { state: 'pending', tries, due: new Date(now + delay) }
}

export const withDeliveryAttempt = (attempts: DeliveryAttempt[], attempt: DeliveryAttempt) =>
  [...attempts, attempt].slice(-MAX_ATTEMPTS)
