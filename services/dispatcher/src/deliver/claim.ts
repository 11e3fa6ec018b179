import { DELIVERY_MS } from '../channels/callback.ts'
import type { MessageRecord, Send } from '../message/message-record.ts'

/** A claimed send that has not left by then, because its slots went by, leaves no more. */
export const SEND_DEADLINE_MS = 3_000
const CLOCKS_MS = 1_500
const STATUS_CHECK_MS = 2_000
const MARKER_CHECK_MS = 500

/** The times that decide if a missing status means that a send did not happen. */
export interface StatusArrival {
  /** Since when (milliseconds since the epoch) providers could hand in statuses; undefined while they can't. */
  clearSince(): number | undefined
  /** Every status that was queued before then (milliseconds since the epoch) has been applied. Who asks has it found out. */
  consumedUntil(): number
}

/** The decision about making a send. */
export type Claim =
  | { kind: 'free' }
  /** Not now: look again then (milliseconds since the epoch). The claim may be taken back before it is over. */
  | { kind: 'busy'; until: number }
  /** Whoever claimed it is gone: its status is to be waited for, where there are any; else it is made no more. */
  | { kind: 'interrupted' }

/**
 * A claim without an outcome may have been sent, and whoever claimed it may still be at it for a while. Where the
 * other side reports, it is sent again only after a window of silence in which a status would have reached us; else
 * under the same id as soon as the claim is over, or not at all where it may not be made again.
 */
export function claimOf(options: {
  record: Pick<MessageRecord, 'due' | 'updatedAt'>
  send: Pick<Send, 'state'>
  reports: boolean
  isRepeatable: boolean
  /** How long the call may take, in milliseconds. */
  timeoutMs?: number | undefined
  statuses: StatusArrival
  uncertainWindow: number
  now: number
}): Claim {
  const { record, send, reports, isRepeatable, statuses, uncertainWindow, now } = options
  const { timeoutMs = DELIVERY_MS } = options
  const { due, updatedAt } = record
  if (send.state !== 'claimed') return { kind: 'free' }
  // Until it leaves and as long as the call may take, with a margin for clocks.
  const claimMs = SEND_DEADLINE_MS + timeoutMs + CLOCKS_MS
  const claimedUntil = updatedAt.getTime() + claimMs
  // Claimed by a clock that was wrong, it would be waited for until that time has come.
  const isOfWrongClock = updatedAt.getTime() > now + claimMs
  if (due === undefined && claimedUntil > now && !isOfWrongClock)
    return { kind: 'busy', until: Math.min(claimedUntil, now + STATUS_CHECK_MS) }
  if (!reports) return { kind: isRepeatable ? 'free' : 'interrupted' }
  if (due === undefined) return { kind: 'interrupted' }
  const silentSince = Math.max(statuses.clearSince() ?? now, due.getTime() - uncertainWindow)
  const until = silentSince + uncertainWindow
  if (until <= Math.min(now, statuses.consumedUntil())) return { kind: 'free' }
  const lookAgain = Math.max(until, now + MARKER_CHECK_MS)
  return { kind: 'busy', until: Math.min(lookAgain, now + STATUS_CHECK_MS) }
}
