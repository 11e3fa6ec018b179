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

/** What a call that brought no answer means for what it was to do. */
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
