import { effectUnknown, type Outcome } from '../message/outcome.ts'

/** Twice is as once (RFC 9110, 9.2.2). */
const IDEMPOTENT_METHODS = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])
const REQUEST_TIMEOUT = 408
/** Codes of attempts that had no effect: nothing has left, or the other side has not begun. */
const NOT_DONE = new Set(['not_reached', 'http_425', 'http_429'])

/** True if a request of this method may be made again when it may have been done. */
export const isIdempotent = (method: string): boolean => IDEMPOTENT_METHODS.has(method.toUpperCase())

/** True if an answer of this status leaves open if the call was done: a proxy may have given up waiting. */
export const leavesOpen = (status: number): boolean => status >= 500 || status === REQUEST_TIMEOUT

/** The outcome of a call of a function: what may have been done and may not be done twice is not tried again. */
export function effectOf(outcome: Outcome, { isRepeatable }: { isRepeatable: boolean }): Outcome {
  if (isRepeatable || outcome.kind === 'accepted' || outcome.kind === 'permanent') return outcome
  if (NOT_DONE.has(outcome.code)) return outcome
  return effectUnknown({ reason: outcome.reason, hasResponse: outcome.kind === 'retryable' })
}
