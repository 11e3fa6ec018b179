import { defined } from '@parley/shared/defined'
import type { Fault } from './message-record.ts'
import type { Outcome } from './outcome.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** How long to wait after the first, second, … try that failed, in milliseconds. */
export const RETRY_DELAYS = [
  SECOND,
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  HOUR,
  6 * HOUR,
] as const

const MAX_RETRY_AFTER = 24 * HOUR

/** The next state of a step after an attempt. */
export type Settlement =
  | { kind: 'settled'; providerId?: string; delivered: boolean }
  | { kind: 'retry'; delay: number }
  /** Wait for a status of it before it is sent again. */
  | { kind: 'await'; delay: number }
  | { kind: 'dead'; reason: string; fault: Fault }

interface Attempted<O extends Outcome> {
  outcome: O
  /** How many tries failed before this one. */
  tries: number
  /** True if the other side later reports the outcome of a send. */
  reports: boolean
  /** How long to wait for such a report, in milliseconds. */
  uncertainWindow: number
}

type Failure = Exclude<Outcome, { kind: 'accepted' }>

/**
 * Decides what an attempt's outcome leads to: settled, tried again after a delay (milliseconds), or dead once
 * the delays are used up. An uncertain send waits for a status where the other side reports what it did, else it is
 * tried again, unless it might then have its effect twice.
 */
export function settle(attempted: Attempted<Outcome>): Settlement {
  const { outcome } = attempted
  if (outcome.kind !== 'accepted') return settleFailure({ ...attempted, outcome })
  const { providerId, delivered } = outcome
  return { kind: 'settled', delivered, ...defined({ providerId }) }
}

/** As {@link settle}, for an attempt that did not succeed. */
export function settleFailure(attempted: Attempted<Failure>): Exclude<Settlement, { kind: 'settled' }> {
  const { outcome, tries, reports, uncertainWindow } = attempted
  const { reason, fault } = outcome
  const isFinal = outcome.kind === 'uncertain' && outcome.isFinal === true
  if (outcome.kind === 'permanent' || isFinal) return { kind: 'dead', reason, fault }
  const delay = retryDelay(tries, outcome.kind === 'retryable' ? outcome.retryAfterSeconds : undefined)
  if (delay === undefined)
    return { kind: 'dead', reason: `${reason} Given up after ${tries + 1} tries.`, fault }
  if (outcome.kind === 'uncertain' && reports) return { kind: 'await', delay: uncertainWindow }
  return { kind: 'retry', delay }
}

/**
 * How long to wait after so many tries that failed before, and what the other side asks for, 24 hours at most (milliseconds);
 * undefined once the tries are used up. Sooner than planned, they would be before the other side has recovered.
 */
export function retryDelay(tries: number, retryAfterSeconds = 0): number | undefined {
  const delay = RETRY_DELAYS[tries]
  return delay === undefined
    ? undefined
    : Math.min(Math.max(delay, retryAfterSeconds * SECOND), MAX_RETRY_AFTER)
}
