import { describe, expect, test } from '@jest/globals'
import { type Claim, claimOf } from '../../src/deliver/claim.ts'
import type { SendState } from '../../src/message/message-record.ts'

const now = Date.parse('2026-01-01T00:00:00Z')
const WINDOW = 60_000

interface Row {
  state?: SendState
  reports?: boolean
  isRepeatable?: boolean
  /** Of the call, in seconds. */
  limit?: number
  /** Seconds since it was claimed, and since when a status would have come. */
  age?: number
  clear?: number | null
  /** Seconds since the last marker that came back was sent. */
  marker?: number
  /** Seconds from now to when it is due. */
  due?: number
}

describe('a send may be made', () => {
  test.each<[string, Row, Claim]>([
    ['when nobody has claimed it', { state: 'pending' }, { kind: 'free' }],
    ['not while whoever claimed it may be at it', { age: 5 }, { kind: 'busy', until: now + 2_000 }],
    [
      'not while a clock a little ahead has just claimed it',
      { age: -5 },
      { kind: 'busy', until: now + 2_000 },
    ],
    ['as an interrupted one when a clock an hour ahead claimed it', { age: -3_600 }, { kind: 'interrupted' }],
    ['until the very end of that', { reports: false, age: 16.499 }, { kind: 'busy', until: now + 1 }],
    ['again from then on, where nothing is reported', { reports: false, age: 16.5 }, { kind: 'free' }],
    [
      'no more from then on, where it may not be made twice',
      { reports: false, isRepeatable: false, age: 16.5 },
      { kind: 'interrupted' },
    ],
    [
      'not while whoever claimed it may be at it, where it may not be made twice',
      { reports: false, isRepeatable: false, age: 16.499 },
      { kind: 'busy', until: now + 1 },
    ],
    [
      'no more when it was to be tried again later, where it may not be made twice',
      { reports: false, isRepeatable: false, due: 0 },
      { kind: 'interrupted' },
    ],
    [
      'when nobody has claimed it, also where it may not be made twice',
      { state: 'pending', reports: false, isRepeatable: false },
      { kind: 'free' },
    ],
    [
      'not while a call with a longer time limit may be at work',
      { reports: false, isRepeatable: false, limit: 120, age: 124.499 },
      { kind: 'busy', until: now + 1 },
    ],
    [
      'no more once that is over, where it may not be made twice',
      { reports: false, isRepeatable: false, limit: 120, age: 124.5 },
      { kind: 'interrupted' },
    ],
    ['not without a word of it, where that is reported', { age: 17 }, { kind: 'interrupted' }],
    ['not while a status may still come', { due: 30 }, { kind: 'busy', until: now + 2_000 }],
    ['after a window of silence', { due: 0, clear: 120 }, { kind: 'free' }],
    ['when all that was queued in the window is applied', { due: -5, marker: 5 }, { kind: 'free' }],
    ['not before that', { due: -5, marker: 5.001 }, { kind: 'busy', until: now + 500 }],
    [
      'not when statuses could not be handed in since',
      { due: 0, clear: 59 },
      { kind: 'busy', until: now + 1_000 },
    ],
    ['not while they can not be', { due: 0, clear: null }, { kind: 'busy', until: now + 2_000 }],
  ])('%s', (_name, row, expected) => {
    const { state = 'claimed', reports = true, isRepeatable = true } = row
    const { age = 3_600, clear = 3_600, due, marker = 0, limit } = row
    const timeoutMs = limit && limit * 1_000
    const record = {
      updatedAt: new Date(now - age * 1_000),
      ...(due === undefined ? {} : { due: new Date(now + due * 1_000) }),
    }
    const clearSince = clear === null ? undefined : now - clear * 1_000
    const statuses = { clearSince: () => clearSince, consumedUntil: () => now - marker * 1_000 }
    const options = { record, statuses, uncertainWindow: WINDOW, now, timeoutMs }
    expect(claimOf({ ...options, send: { state }, reports, isRepeatable })).toEqual(expected)
  })

  test('without looking for statuses, where nothing depends on one', () => {
    const asked: string[] = []
    const statuses = {
      clearSince: () => void asked.push('clearSince'),
      consumedUntil: () => asked.push('consumedUntil'),
    }
    const record = { updatedAt: new Date(now - 20_000) }
    const options = { record, isRepeatable: true, statuses, uncertainWindow: WINDOW, now }
    expect(claimOf({ ...options, send: { state: 'pending' }, reports: true })).toEqual({ kind: 'free' })
    expect(claimOf({ ...options, send: { state: 'claimed' }, reports: false })).toEqual({ kind: 'free' })
    expect(asked).toEqual([])
  })
})
