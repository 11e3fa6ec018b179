import { describe, expect, test } from '@jest/globals'
import { isQuotaSpent, waitAsked } from '../../src/agents/model/provider-limits.ts'

const NOW = Date.parse('2026-11-27T12:00:00Z')
const wait = (responseHeaders: Record<string, string>, { statusCode = 429, responseBody = '' } = {}) =>
  waitAsked({ statusCode, responseHeaders, responseBody }, NOW).retryAfterSeconds

describe('a provider asks to be left alone', () => {
  test.each([
    ['by Retry-After', { 'retry-after': '7' }, 7],
    ['by a date', { 'retry-after': 'Fri, 27 Nov 2026 12:00:30 GMT' }, 30],
    ['by milliseconds, which are more exact', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1.5],
    [
      'until the limit is reset that is used up',
      {
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '6m0.5s',
      },
      360.5,
    ],
    [
      'until the next limit is reset where all have something left',
      {
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '20ms',
        'x-ratelimit-remaining-tokens': '12',
        'x-ratelimit-reset-tokens': '4s',
      },
      0.02,
    ],
    [
      'until an instant',
      {
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2026-11-27T12:00:42Z',
        'anthropic-ratelimit-requests-remaining': '49',
        'anthropic-ratelimit-requests-reset': '2026-11-27T12:00:01Z',
      },
      42,
    ],
    [
      'until an instant in milliseconds since the epoch',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW + 9_000) },
      9,
    ],
    ['for nothing that can be read', { 'retry-after': 'soon', 'x-ratelimit-reset': 'later' }, undefined],
    ['not at all', {}, undefined],
  ])('%s', (_how, headers, seconds) => {
    expect(wait(headers)).toBe(seconds)
  })

  test('in the text of the error', () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' }]
    expect(wait({}, { responseBody: JSON.stringify({ error: { code: 429, details } }) })).toBe(34.07)
  })

  test('by limits only where they are why it refuses', () => {
    expect(wait({ 'x-ratelimit-reset-requests': '1s' }, { statusCode: 503 })).toBeUndefined()
  })
})

describe('a quota that is spent', () => {
  test.each([
    ['OpenAI', { error: { type: 'insufficient_quota', code: 'insufficient_quota' } }],
    ['OpenAI, whose account is not active', { error: { type: 'billing_not_active', code: null } }],
    ['Moonshot', { error: { type: 'exceeded_current_quota_error' } }],
    ['Zhipu', { error: { code: '1113', message: 'Insufficient balance' } }],
    [
      'Google, for the day',
      {
        error: {
          status: 'RESOURCE_EXHAUSTED',
          details: [{ violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] }],
        },
      },
    ],
    ['a list of errors', [{ error: { code: 'insufficient_quota' } }]],
  ])('is known from %s', (_who, body) => {
    expect(isQuotaSpent({ statusCode: 429, responseBody: JSON.stringify(body) })).toBe(true)
  })

  test.each([
    ['a limit of a minute', 429, { error: { type: 'requests', code: 'rate_limit_exceeded' } }],
    ['what is no JSON', 429, undefined],
    ['another status', 503, { error: { code: 'insufficient_quota' } }],
  ])('is not %s', (_what, statusCode, body) => {
    expect(isQuotaSpent({ statusCode, responseBody: JSON.stringify(body) ?? 'insufficient_quota' })).toBe(
      false,
    )
  })
})
