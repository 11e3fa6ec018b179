import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Attempt, MessageRecord, Send, SendState } from '../../src/message/message-record.ts'
import { CRASHED, INTERRUPTED, type Outcome, SUBMITTED } from '../../src/message/outcome.ts'
import {
  attemptOf,
  claimed,
  ended,
  handled,
  nextToSend,
  replayed,
  settledSend,
  unsettled,
  withEntry,
} from '../../src/message/progress.ts'
import { settle } from '../../src/message/settle.ts'
import { newRecord } from '../new-record.ts'

const at = Date.parse('2026-01-02T00:00:00Z')
const retentionMs = 86_400_000
const received = { at: new Date('2026-01-01T00:00:00Z'), state: 'received' as const }
const failedOnce: Attempt = { at: new Date(at - 9_000), step: 'm:0', outcome: 'retryable', code: 'x', ms: 3 }
const attempt: Attempt = { at: new Date(at), step: 'm:0', outcome: 'accepted', ms: 5 }

const text = (index: number, state: SendState): Send => ({
  id: `m:${index}`,
  state,
  content: { kind: 'text', text: 'x' },
})
const sends = (...states: SendState[]) => states.map((state, index) => text(index, state))
const record = (change: Partial<MessageRecord>) =>
  newRecord({
    state: 'sending',
    open: true,
    due: new Date(at),
    tries: 2,
    answer: '{"message":"x"}',
    timeline: [received],
    attempts: [failedOnce],
    reason: 'Old.',
    fault: 'us',
    ...change,
  })
/** The fields that every step carries over from that record. */
const carried = { state: 'sending', answer: '{"message":"x"}', timeline: [received], attempts: [failedOnce] }

describe('the progress of a message', () => {
  test('whose answer is known: it is handled, and its tries begin anew', () => {
    const before = record({ state: 'received', sends: sends('pending') })
    expect(handled(before, { at })).toStrictEqual({
      ...carried,
      state: 'handled',
      open: true,
      tries: 0,
      sends: sends('pending'),
      timeline: [received, { at: new Date(at), state: 'handled' }],
    })
  })

  const sending = { at: new Date(at), state: 'sending' }
  test.each<[string, Partial<MessageRecord>, object]>([
    [
      'a first send claimed at once: what was handled is recorded with it',
      { state: 'received' },
      { tries: 0, timeline: [received, { at: new Date(at), state: 'handled' }, sending] },
    ],
    ['the first send claimed', { state: 'handled', tries: 0 }, { tries: 0, timeline: [received, sending] }],
    ['another one claimed', { state: 'sending' }, { tries: 2, timeline: [received] }],
  ])('%s', (_name, change, expected) => {
    const before = record({ ...change, sends: sends('sent', 'pending', 'pending') })
    expect(claimed(before, { index: 1, at })).toStrictEqual({
      ...carried,
      state: 'sending',
      open: true,
      sends: sends('sent', 'claimed', 'pending'),
      ...expected,
    })
  })

  test('a send to be tried again is pending until its time', () => {
    const before = record({ sends: sends('sent', 'claimed') })
    const settlement = { kind: 'retry', delay: 5_000 } as const
    expect(unsettled(before, { index: 1, settlement, attempt, at, retentionMs })).toStrictEqual({
      ...carried,
      open: true,
      tries: 3,
      attempts: [failedOnce, attempt],
      sends: sends('sent', 'pending'),
      due: new Date(at + 5_000),
      waitingFor: 'retry',
    })
  })

  test('a send that waits for a status stays claimed', () => {
    const before = record({ sends: sends('sent', 'claimed') })
    const settlement = { kind: 'await', delay: 60_000 } as const
    expect(unsettled(before, { index: 1, settlement, attempt, at, retentionMs })).toStrictEqual({
      ...carried,
      open: true,
      tries: 3,
      attempts: [failedOnce, attempt],
      sends: sends('sent', 'claimed'),
      due: new Date(at + 60_000),
      waitingFor: 'status',
    })
  })

  test('a handler to be tried again changes no send', () => {
    const before = record({ state: 'received', sends: sends('claimed') })
    const settlement = { kind: 'retry', delay: 1_000 } as const
    expect(unsettled(before, { settlement, attempt, at, retentionMs })).toStrictEqual({
      ...carried,
      state: 'received',
      open: true,
      tries: 3,
      attempts: [failedOnce, attempt],
      sends: sends('claimed'),
      due: new Date(at + 1_000),
      waitingFor: 'retry',
    })
  })

  test('what is given up ends with its reason, nothing left to run', () => {
    const before = record({ sends: sends('sent', 'claimed') })
    const settlement = { kind: 'dead', reason: 'Refused.', fault: 'channel' } as const
    expect(unsettled(before, { index: 1, settlement, attempt, at, retentionMs })).toStrictEqual({
      ...carried,
      state: 'dead',
      tries: 2,
      attempts: [failedOnce, attempt],
      sends: sends('sent', 'pending'),
      reason: 'Refused.',
      fault: 'channel',
      timeline: [received, { at: new Date(at), state: 'dead', reason: 'Refused.' }],
      expiresAt: new Date(at + retentionMs),
    })
  })

  test('a send that settled before the last one: the next begins with no tries', () => {
    const before = record({ sends: sends('claimed', 'pending') })
    const settlement = { kind: 'settled', providerId: 'wamid.1', delivered: false } as const
    const [first, second] = sends('sent', 'pending')
    expect(settledSend(before, { index: 0, settlement, attempt, at, retentionMs })).toStrictEqual({
      ...carried,
      open: true,
      tries: 0,
      attempts: [failedOnce, attempt],
      sends: [{ ...first, providerId: 'wamid.1', tries: 2 }, second],
    })
  })

  test.each<[string, SendState, { delivered: boolean; providerId?: string }, SendState, string]>([
    ['was taken', 'claimed', { delivered: false, providerId: 'wamid.1' }, 'sent', 'sent'],
    ['was delivered', 'claimed', { delivered: true }, 'delivered', 'delivered'],
    ['was read before the answer came', 'read', { delivered: false }, 'read', 'read'],
    ['failed before the answer came', 'failed', { delivered: false }, 'failed', 'failed'],
  ])('the last send %s: the message ends', (_name, state, settled, after, end) => {
    const settlement = { kind: 'settled', ...settled } as const
    const { delivered: _delivered, ...provider } = settled
    expect(
      settledSend(record({ sends: [text(0, state)] }), { index: 0, settlement, attempt, at, retentionMs }),
    ).toStrictEqual({
      ...carried,
      state: end,
      tries: 0,
      attempts: [failedOnce, attempt],
      sends: [{ ...text(0, after), ...provider, tries: 2 }],
      timeline: [received, { at: new Date(at), state: end }],
      expiresAt: new Date(at + retentionMs),
    })
  })

  test.each<[string, { answer?: string }, object]>([
    ['with an answer made on the way', { answer: '{}' }, { answer: '{}' }],
    ['with the answer it has', {}, {}],
  ])('that ends without a send, %s', (_name, answer, expected) => {
    expect(
      ended(record({ sends: [] }), { end: { state: 'done' }, ...answer, at, retentionMs }),
    ).toStrictEqual({
      ...carried,
      ...expected,
      state: 'done',
      tries: 2,
      sends: [],
      timeline: [received, { at: new Date(at), state: 'done' }],
      expiresAt: new Date(at + retentionMs),
    })
  })

  test('names no answer where there is none', () => {
    const { answer: _stored, ...before } = record({ sends: [] })
    expect(Object.keys(handled(before, { at }))).not.toContain('answer')
  })

  test('changes nothing of the record that it comes from', () => {
    const before = record({ sends: sends('claimed', 'pending') })
    const original = structuredClone(before)
    claimed(before, { index: 1, at })
    settledSend(before, {
      index: 0,
      settlement: { kind: 'settled', delivered: true },
      attempt,
      at,
      retentionMs,
    })
    expect(before).toStrictEqual(original)
  })
})

describe('a message that is run again', () => {
  test('is no longer marked by a person who had its thread: whoever has it by then is looked up', () => {
    const at = new Date(1_000)
    const taken = newRecord({ state: 'dead', inbound: true, takenOver: at, handedOffAt: at })
    const again = replayed(taken, { at: new Date(2_000), partition: 0, order: 2 })
    expect(again).not.toHaveProperty('takenOver')
    expect(again).not.toHaveProperty('handedOffAt')
  })
})

describe('the next to send', () => {
  test.each<[SendState[], number | undefined]>([
    [[], undefined],
    [['pending'], 0],
    [['claimed', 'pending'], 0],
    [['sent', 'pending'], 1],
    [['failed', 'read', 'claimed'], 2],
    [['sent', 'delivered', 'read', 'failed'], undefined],
  ])('of %j is %p', (states, expected) => {
    expect(nextToSend(sends(...states))).toBe(expected)
  })
})

describe('the history of a message is bounded', () => {
  const entries = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ at: new Date(index), state: 'sending' as const }))

  test('the timeline to 50 entries: the first one and the newest', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 120 }), (count) => {
        const all = entries(count + 1)
        const expected = all.length <= 50 ? all : [all[0], ...all.slice(-49)]
        expect(withEntry(all.slice(0, -1), all[count]!)).toStrictEqual(expected)
      }),
    )
  })

  test('the attempts to the newest 50', () => {
    const attempts = Array.from({ length: 50 }, (_, ms) => ({ ...attempt, ms }))
    const before = record({ sends: sends('claimed'), attempts })
    const settlement = { kind: 'retry', delay: 1 } as const
    const after = unsettled(before, {
      index: 0,
      settlement,
      attempt: { ...attempt, ms: 50 },
      at,
      retentionMs,
    })
    expect(after.attempts.map(({ ms }) => ms)).toStrictEqual(Array.from({ length: 50 }, (_, ms) => ms + 1))
  })
})

describe('an attempt', () => {
  test.each<[string, Outcome, object]>([
    ['that was taken has no code', { kind: 'accepted', delivered: true }, { outcome: 'accepted' }],
    ['that failed has its code', CRASHED, { outcome: 'retryable', code: 'internal_error' }],
  ])('%s', (_name, outcome, expected) => {
    expect(attemptOf({ step: 'handler', outcome, at, ms: 1.6 })).toStrictEqual({
      at: new Date(at),
      step: 'handler',
      ms: 2,
      ...expected,
    })
  })
})

describe('outcomes of our own', () => {
  const common = { tries: 0, uncertainWindow: 60_000 }

  test('a claim that was never settled is uncertain, and ours to answer for', () => {
    expect(settle({ ...common, outcome: INTERRUPTED, reports: true })).toStrictEqual({
      kind: 'await',
      delay: 60_000,
    })
    expect(settle({ ...common, outcome: INTERRUPTED, reports: false })).toStrictEqual({
      kind: 'retry',
      delay: 1_000,
    })
    expect(settle({ ...common, tries: 7, outcome: INTERRUPTED, reports: true })).toMatchObject({
      fault: 'us',
      reason: 'The send was interrupted. Given up after 8 tries.',
    })
    expect(attemptOf({ step: 'm:0', outcome: INTERRUPTED, at, ms: 0 })).toMatchObject({ code: 'interrupted' })
  })

  test('something unforeseen is tried again, and ends', () => {
    expect(settle({ ...common, outcome: CRASHED, reports: true })).toStrictEqual({
      kind: 'retry',
      delay: 1_000,
    })
    expect(settle({ ...common, tries: 7, outcome: CRASHED, reports: true })).toStrictEqual({
      kind: 'dead',
      fault: 'us',
      reason: 'Something went wrong on our side. Given up after 8 tries.',
    })
  })

  test('what the broker has confirmed is delivered', () => {
    expect(settle({ ...common, outcome: SUBMITTED, reports: false })).toStrictEqual({
      kind: 'settled',
      delivered: true,
    })
  })
})
