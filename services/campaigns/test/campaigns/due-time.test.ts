import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { afterQuietHours, dueTime, isTimeZone } from '../../src/campaigns/rules/due-time.ts'

const at = (text: string) => Date.parse(text)
const iso = (ms: number) => new Date(ms).toISOString()
const MINUTE_MS = 60_000
const ZONES = [
  'America/Sao_Paulo',
  'America/New_York',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'UTC',
]

describe('when a person is written to', () => {
  const local = { at: '2026-11-27T09:00:00', timeZone: 'America/Sao_Paulo', inEachTimeZone: true }

  test('a wall clock’s time is each person’s own', () => {
    expect(iso(dueTime(local, 'Europe/Berlin', 0))).toBe('2026-11-27T08:00:00.000Z')
    expect(iso(dueTime(local, 'America/New_York', 0))).toBe('2026-11-27T14:00:00.000Z')
  })

  test('who has no zone, or one that does not exist, has the campaign’s', () => {
    expect(iso(dueTime(local, undefined, 0))).toBe('2026-11-27T12:00:00.000Z')
    expect(iso(dueTime(local, 'Mars/Olympus', 0))).toBe('2026-11-27T12:00:00.000Z')
  })

  test('without each person’s own time it is one instant for all', () => {
    const together = { ...local, inEachTimeZone: false }
    expect(iso(dueTime(together, 'Europe/Berlin', 0))).toBe('2026-11-27T12:00:00.000Z')
    expect(iso(dueTime({ ...together, at: '2026-11-27T09:00:00+01:00' }, 'Asia/Kolkata', 0))).toBe(
      '2026-11-27T08:00:00.000Z',
    )
  })

  test('nobody is written to before the campaign began, and whose time has gone by is at once', () => {
    expect(dueTime(local, 'Asia/Kolkata', at('2026-11-27T10:00:00Z'))).toBe(at('2026-11-27T10:00:00Z'))
    expect(dueTime({ timeZone: 'UTC', inEachTimeZone: false }, undefined, 5)).toBe(5)
  })

  test('a time that summer time skips is as long after it began; of one that comes twice it is the first', () => {
    const berlin = (text: string) =>
      dueTime({ at: text, timeZone: 'UTC', inEachTimeZone: true }, 'Europe/Berlin', 0)
    expect(iso(berlin('2026-03-29T02:30:00'))).toBe('2026-03-29T01:30:00.000Z')
    expect(iso(berlin('2026-10-25T02:30:00'))).toBe('2026-10-25T00:30:00.000Z')
  })

  test.each([
    ['22:00', '2026-11-28T01:00:00Z', '2026-11-28T11:00:00.000Z'],
    ['07:59', '2026-11-28T10:59:00Z', '2026-11-28T11:00:00.000Z'],
    ['08:00', '2026-11-28T11:00:00Z', '2026-11-28T11:00:00.000Z'],
    ['20:59', '2026-11-27T23:59:00Z', '2026-11-27T23:59:00.000Z'],
  ])('at %s in São Paulo, quiet from 21:00 to 08:00', (_clock, now, due) => {
    expect(iso(afterQuietHours(at(now), 'America/Sao_Paulo', { from: '21:00', to: '08:00' }))).toBe(due)
  })

  test('a night that is an hour longer or shorter ends when the clock says so', () => {
    const quiet = { from: '21:00', to: '08:00' }
    expect(iso(afterQuietHours(at('2026-10-24T22:00:00Z'), 'Europe/Berlin', quiet))).toBe(
      '2026-10-25T07:00:00.000Z',
    )
    expect(iso(afterQuietHours(at('2026-03-28T22:00:00Z'), 'Europe/Berlin', quiet))).toBe(
      '2026-03-29T06:00:00.000Z',
    )
  })

  test('hours that begin and end at the same time are none', () => {
    expect(afterQuietHours(7, 'UTC', { from: '08:00', to: '08:00' })).toBe(7)
  })

  test('whoever waits for the end of quiet hours waits no longer than that, wherever and whenever it is', () => {
    const clock = fc
      .tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom('00', '30'))
      .map(([hour, minute]) => `${String(hour).padStart(2, '0')}:${minute}`)
    const minutes = fc.integer({
      min: at('2026-01-01T00:00:00Z') / MINUTE_MS,
      max: at('2027-12-31T00:00:00Z') / MINUTE_MS,
    })
    fc.assert(
      fc.property(minutes, fc.constantFrom(...ZONES), clock, clock, (minute, zone, from, to) => {
        const now = minute * MINUTE_MS
        const isQuiet = (ms: number) => quietByMinutes(ms, zone, { from, to })
        const due = afterQuietHours(now, zone, { from, to })
        expect(due).toBeGreaterThanOrEqual(now)
        if (!isQuiet(now)) expect(due).toBe(now)
        else {
          expect(isQuiet(due - MINUTE_MS)).toBe(true)
          expect(due - now).toBeLessThanOrEqual(26 * 60 * MINUTE_MS)
        }
      }),
      { numRuns: 500 },
    )
  })
})

/** By the minutes that a clock on the wall shows. */
function quietByMinutes(ms: number, timeZone: string, { from, to }: { from: string; to: string }): boolean {
  if (from === to) return false
  const shown = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(ms)
  return from < to ? from <= shown && shown < to : shown >= from || shown < to
}

test('a time zone is a name of the IANA database', () => {
  expect(['America/Sao_Paulo', 'UTC'].every(isTimeZone)).toBe(true)
  expect(['', 'GMT+25', '+02:00', 'America/Sao Paulo', 'sao_paulo/brazil'].some(isTimeZone)).toBe(false)
})
