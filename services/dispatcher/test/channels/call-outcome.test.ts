import { describe, expect, test } from '@jest/globals'
import {
  outcomeOfCall,
  outcomeOfFailure,
  outcomeOfStatus,
  retryAfterOf,
  withRetryAfter,
} from '../../src/channels/http/call-outcome.ts'
import { CallError } from '../../src/channels/http/http-client.ts'

describe('what the status of an endpoint means', () => {
  test.each([
    ...[200, 201, 202, 204, 299].map((status) => [status, 'accepted'] as const),
    ...[408, 425, 429, 500, 501, 502, 503, 504, 599].map((status) => [status, 'retryable'] as const),
    ...[100, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 451].map(
      (status) => [status, 'permanent'] as const,
    ),
  ])('%i: %s', (status, kind) => {
    const outcome = outcomeOfStatus({ status, headers: {} })
    expect(outcome).toMatchObject(
      kind === 'accepted' ? { kind, delivered: true } : { kind, code: `http_${status}`, fault: 'channel' },
    )
  })
})

describe('what a call without an answer means', () => {
  test.each([
    ['not_sent', 'retryable', 'not_reached', 'provider'],
    ['refused_target', 'permanent', 'target_refused', 'channel'],
    ['no_answer', 'uncertain', 'no_answer', 'provider'],
    ['answer_too_large', 'uncertain', 'answer_too_large', 'provider'],
  ] as const)('%s: %s', (failure, kind, code, fault) => {
    expect(outcomeOfFailure(new CallError(failure, undefined))).toMatchObject({ kind, code, fault })
  })

  test('a request that could not even be made will never be', () => {
    expect(outcomeOfFailure(new TypeError('x'))).toMatchObject({ kind: 'permanent', fault: 'channel' })
  })

  test.each([
    [200, 'accepted'],
    [503, 'retryable'],
    [404, 'permanent'],
  ])('one with %i and more than is read is %s, where only the status counts', (status, kind) => {
    expect(outcomeOfCall(new CallError('answer_too_large', undefined, status)).kind).toBe(kind)
  })
})

describe('Retry-After', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  test.each([
    ['17', { retryAfterSeconds: 17 }],
    ['0', { retryAfterSeconds: 0 }],
    ['Thu, 01 Jan 2026 00:01:00 GMT', { retryAfterSeconds: 60 }],
    ['Wed, 31 Dec 2025 23:59:00 GMT', {}],
    ['-1', {}],
    ['soon', {}],
    ['1e400', {}],
    [undefined, {}],
  ])('%s', (header, expected) => {
    expect(retryAfterOf({ headers: header === undefined ? {} : { 'retry-after': header } }, now)).toEqual(
      expected,
    )
  })
})

test("a Retry-After of the provider's is taken over, unless the provider's code asks for another time", () => {
  const failure = { kind: 'retryable', code: '1', fault: 'provider', reason: '' } as const
  const answer = { headers: { 'retry-after': '7' } }
  expect(withRetryAfter(failure, answer)).toMatchObject({ retryAfterSeconds: 7 })
  expect(withRetryAfter({ ...failure, retryAfterSeconds: 60 }, answer)).toMatchObject({
    retryAfterSeconds: 60,
  })
})
