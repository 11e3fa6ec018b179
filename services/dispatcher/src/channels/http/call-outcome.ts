import { type SendOutcome, outcomeOfStatus as statusOutcome } from '@parley/shared/providers/http'
import type { Outcome } from '../../message/outcome.ts'
import { CallError, type HttpResponse } from './http-client.ts'

/** The other side's `Retry-After` in seconds or as an HTTP date (RFC 9110), where it is there and sane. */
export function retryAfterOf(
  answer: Pick<HttpResponse, 'headers'>,
  now = Date.now(),
): { retryAfterSeconds?: number } {
  const header = answer.headers['retry-after']
  if (typeof header !== 'string') return {}
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000
  return Number.isFinite(seconds) && seconds >= 0 ? { retryAfterSeconds: seconds } : {}
}

/** Returns the outcome of an endpoint's status: 2xx took it; 408, 425, 429 and 5xx may work later; others will not. */
export function outcomeOfStatus(answer: Pick<HttpResponse, 'status' | 'headers'>): Outcome {
  return withRetryAfter(statusOutcome(answer), answer)
}

/** The outcome, with the time that the other side asks for where the outcome has none of its own. */
export function withRetryAfter(outcome: SendOutcome, answer: Pick<HttpResponse, 'headers'>): Outcome {
  return outcome.kind === 'retryable' ? { ...retryAfterOf(answer), ...outcome } : outcome
}

/** Returns the outcome of a failed call by its status alone, which is known even if the answer was too large. */
export function outcomeOfCall(error: unknown): Outcome {
  if (error instanceof CallError && error.status !== undefined)
    return outcomeOfStatus({ status: error.status, headers: {} })
  return outcomeOfFailure(error)
}

/** Returns the outcome of a call that brought no answer. */
export function outcomeOfFailure(error: unknown): Exclude<Outcome, { kind: 'accepted' }> {
  if (!(error instanceof CallError)) {
    return {
      kind: 'permanent',
      code: 'bad_request',
      fault: 'channel',
      reason: 'The request could not be made.',
    }
  }
  switch (error.failure) {
    case 'refused_target':
      return {
        kind: 'permanent',
        code: 'target_refused',
        fault: 'channel',
        reason: 'The URL leads to a private, loopback or link-local address.',
      }
    case 'not_sent':
      return {
        kind: 'retryable',
        code: 'not_reached',
        fault: 'provider',
        reason: 'The other side could not be reached.',
      }
    case 'answer_too_large':
      return {
        kind: 'uncertain',
        code: error.failure,
        fault: 'provider',
        reason: 'The answer is too large.',
      }
    case 'no_answer':
      return {
        kind: 'uncertain',
        code: error.failure,
        fault: 'provider',
        reason: 'No usable answer came in time.',
      }
  }
}
