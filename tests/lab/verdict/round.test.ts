import { describe, expect, test } from '@jest/globals'
import { growth, isSettled, LATE_MS, leaks, type RoundOutcome, untilWhole, violations } from './round.ts'

const read = { path: '/rest/users', outcome: 200 as const, saysWhen: false, at: 10, ms: 1 }
const good: RoundOutcome = {
  recoveredMs: 100,
  settledMs: 100,
  reconciliation: {
    posted: 5,
    accepted: 5,
    arrived: 5,
    once: 5,
    doubled: 0,
    missing: 0,
    threadsOutOfOrder: 0,
  },
  count: { accepted: 5, inFlight: 0, delivered: 4, read: 1, difference: 0, unaudited: 0 },
  queued: 0,
  reads: [read],
  readyAt: 20,
  cutsCallers: false,
  troubles: [],
}
const counted = (changes: Partial<RoundOutcome['reconciliation']>) => ({
  reconciliation: { ...good.reconciliation, ...changes },
})
const count = (changes: object) => ({ count: { ...good.count, ...changes } as RoundOutcome['count'] })
const reads = (...changes: object[]) => ({
  reads: changes.map((change) => ({ ...read, ...change }) as typeof read),
})

test('a round in which all went well breaks nothing', () => {
  expect(violations(good)).toEqual([])
  expect(isSettled(good)).toBe(true)
})

test.each<[string, Partial<RoundOutcome>, string]>([
  ['a lost message', counted({ once: 4, missing: 1, arrived: 4 }), '1 messages were lost'],
  ['a doubled one', counted({ once: 4, doubled: 1, arrived: 6 }), '1 messages arrived more than once'],
  ['disorder', counted({ threadsOutOfOrder: 2 }), '2 threads were out of order'],
  ['something foreign', counted({ arrived: 6 }), '1 arrivals were never posted'],
  ['no answer', counted({ accepted: 4 }), '1 messages were not answered with 200 within a minute'],
  ['nothing at all', counted({ posted: 0, accepted: 0, arrived: 0, once: 0 }), 'nothing was posted'],
  ['a difference', count({ difference: 1 }), '1 messages are missing from the equation'],
  ['too few accepted', count({ accepted: 4 }), '1 more or less were accepted than posted'],
  ['no recovery', { recoveredMs: undefined }, 'it did not recover'],
  ['other troubles', { troubles: ['It broke.'] }, 'It broke.'],
  ['a wrong answer', reads({ outcome: 500 }), 'GET /rest/users: 500'],
  ['503 without a time', reads({ outcome: 503 }), 'GET /rest/users: 503'],
  ['503 when all is ready', reads({ outcome: 503, saysWhen: true, at: 21 }), 'GET /rest/users: 503'],
  ['a cut connection', reads({ outcome: 'broken' }), 'GET /rest/users: broken'],
  ['a read that hangs', reads({ outcome: 'hung' }), 'GET /rest/users: hung'],
])('%s is told', (_name, changes, expected) => {
  expect(violations({ ...good, ...changes })).toContain(expected)
})

test('what stays is told with what is left', () => {
  const [expected] = violations({ ...good, settledMs: undefined, queued: 3 })
  expect(expected).toMatch(/^something is stuck: \{"missing":0,"queued":3,/)
})

test.each<[string, Partial<RoundOutcome>]>([
  ['503 with a time while something is away', reads({ outcome: 503, saysWhen: true })],
  ['504 likewise', reads({ outcome: 504, saysWhen: true })],
  ['a cut connection when the gateway fails', { ...reads({ outcome: 'broken' }), cutsCallers: true }],
])('%s is allowed', (_name, changes) => {
  expect(violations({ ...good, ...changes })).toEqual([])
})

describe('a round is not settled', () => {
  test.each<[string, Partial<RoundOutcome>]>([
    ['while a queue holds something', { queued: 1 }],
    ['while the broker does not say', { queued: undefined }],
    ['while nobody counts', { count: undefined }],
    ['while something is in flight', count({ inFlight: 1, delivered: 3 })],
    ['while a message is at sent', count({ delivered: 3 })],
    ['while the audit is behind', count({ unaudited: 1 })],
    ['while something is missing', counted({ missing: 1 })],
  ])('%s', (_name, changes) => {
    expect(isSettled({ ...good, ...changes })).toBe(false)
  })
})

const STRUCK_AT = 100_000
const message = (sequence: number, postedAt: number, tookMs: number) => ({
  posted: { thread: 1, sequence, postedAt, acceptedAt: postedAt, repeats: 0 },
  arrival: { thread: 1, sequence, at: postedAt + tookMs },
})
const whole = (...messages: ReturnType<typeof message>[]) =>
  untilWhole({
    posted: messages.map(({ posted }) => posted),
    received: messages.map(({ arrival }) => arrival),
    struckAt: STRUCK_AT,
  })

test('delivery is whole again once the last late message arrived, whenever that was posted', () => {
  const before = message(0, STRUCK_AT - 1_000, 9_000)
  const after = message(1, STRUCK_AT + 1_000, LATE_MS + 1)
  expect(whole(before, after)).toBe(8_000)
})

test('delivery was whole all along when no message was late, or only before the fault', () => {
  const inTime = message(0, STRUCK_AT + 50_000, LATE_MS)
  const earlier = message(1, STRUCK_AT - 50_000, LATE_MS + 1)
  expect(whole(inTime, earlier)).toBe(0)
})

test('a repeat counts by its first arrival', () => {
  const { posted, arrival } = message(0, STRUCK_AT, 10)
  const received = [arrival, { ...arrival, at: arrival.at + 20_000 }]
  expect(untilWhole({ posted: [posted], received, struckAt: STRUCK_AT })).toBe(0)
})

const usage = (mebibytes: number, sockets: number) => ({ mebibytes, sockets })

test('the most that any process has grown', () => {
  const before = { a: usage(100, 5), b: usage(50, 5) }
  expect(growth(before, { a: usage(90, 9), b: usage(80, 4), fresh: usage(500, 500) })).toEqual(usage(30, 4))
})

test.each([
  ['as much as before', { gateway: usage(100, 10) }, []],
  ['a little more', { gateway: usage(250, 34) }, []],
  ['connections', { gateway: usage(100, 35) }, ['gateway holds 35 sockets after 10']],
  ['memory', { gateway: usage(251, 10) }, ['gateway holds 251 MiB after 100']],
  ["a store's cache", { mongodb: usage(900, 10) }, []],
])('leaks: %s', (_name, now, expected) => {
  expect(leaks({ gateway: usage(100, 10), mongodb: usage(100, 10) }, now)).toEqual(expected)
})
