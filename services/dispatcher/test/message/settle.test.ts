import { describe, expect, test } from '@jest/globals'
import type { Outcome } from '@parley/dispatcher/message/outcome'
import { RETRY_DELAYS, settle } from '@parley/dispatcher/message/settle'

const retryable: Outcome = { kind: 'retryable', code: '131016', fault: 'provider', reason: 'Busy.' }
const permanent: Outcome = { kind: 'permanent', code: '190', fault: 'channel', reason: 'Token expired.' }
const uncertain: Outcome = { kind: 'uncertain', code: 'no_answer', fault: 'provider', reason: 'No answer.' }
const hour = 3_600_000

describe('settle', () => {
  const rows: Array<[string, { outcome: Outcome; tries: number; reports: boolean }, object]> = [
    [
      'an accepted send settles with the id of the provider',
      { outcome: { kind: 'accepted', providerId: 'wamid.1', delivered: false }, tries: 3, reports: true },
      { kind: 'settled', providerId: 'wamid.1', delivered: false },
    ],
    [
      'an RPC call that was taken is delivered',
      { outcome: { kind: 'accepted', delivered: true }, tries: 0, reports: false },
      { kind: 'settled', delivered: true },
    ],
    [
      'a first failure is tried again after 1 s',
      { outcome: retryable, tries: 0, reports: true },
      { kind: 'retry', delay: 1_000 },
    ],
    [
      'a second one after 5 s',
      { outcome: retryable, tries: 1, reports: true },
      { kind: 'retry', delay: 5_000 },
    ],
    [
      'a seventh one after 6 h',
      { outcome: retryable, tries: 6, reports: true },
      { kind: 'retry', delay: 6 * hour },
    ],
    [
      'an eighth one is dead',
      { outcome: retryable, tries: 7, reports: true },
      { kind: 'dead', fault: 'provider', reason: 'Busy. Given up after 8 tries.' },
    ],
    [
      'a Retry-After that is longer wins',
      { outcome: { ...retryable, retryAfterSeconds: 17 }, tries: 0, reports: true },
      { kind: 'retry', delay: 17_000 },
    ],
    [
      'a Retry-After that is shorter makes no try come sooner',
      { outcome: { ...retryable, retryAfterSeconds: 0 }, tries: 3, reports: true },
      { kind: 'retry', delay: 120_000 },
    ],
    [
      'a Retry-After of a year is cut to a day',
      { outcome: { ...retryable, retryAfterSeconds: 31_536_000 }, tries: 0, reports: true },
      { kind: 'retry', delay: 24 * hour },
    ],
    [
      'a permanent error is dead at once',
      { outcome: permanent, tries: 0, reports: true },
      { kind: 'dead', fault: 'channel', reason: 'Token expired.' },
    ],
    [
      'an uncertain send waits for a status where the provider reports',
      { outcome: uncertain, tries: 0, reports: true },
      { kind: 'await', delay: 60_000 },
    ],
    [
      'an uncertain call is made again where there are none',
      { outcome: uncertain, tries: 0, reports: false },
      { kind: 'retry', delay: 1_000 },
    ],
    [
      'uncertainty ends too',
      { outcome: uncertain, tries: 7, reports: true },
      { kind: 'dead', fault: 'provider', reason: 'No answer. Given up after 8 tries.' },
    ],
  ]
  test.each(rows)('%s', (_name, attempted, expected) => {
    expect(settle({ ...attempted, uncertainWindow: 60_000 })).toStrictEqual(expected)
  })

  test('the delays grow from 1 s to 6 h', () => {
    expect(RETRY_DELAYS).toEqual([1_000, 5_000, 30_000, 120_000, 600_000, hour, 6 * hour])
  })
})
