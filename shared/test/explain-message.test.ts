import { describe, expect, test } from '@jest/globals'
import { type ExplainedMessage, explainMessage, reasonInWords } from '../src/explain-message.ts'

const AT = '2026-11-27T10:00:00.000Z'
const message: ExplainedMessage = {
  _id: 'm',
  channel: 'line',
  state: 'dead',
  reason: 'The provider refused it.',
  fault: 'channel',
  requestId: 'r',
  updatedAt: AT,
  timeline: [{ at: AT, state: 'received' }],
  attempts: [{ at: AT, step: 'm:0', outcome: 'permanent', code: '190', error: 'Session expired', ms: 12 }],
  sends: [{ id: 'm:0', content: { kind: 'text' } }],
}
const means = { replay: 'replay it', look: (id: string) => `look at ${id}`, check: 'check', doctor: 'doctor' }
const explain = (change: Partial<ExplainedMessage>, now = new Date(AT)) =>
  explainMessage({ ...message, ...change }, { now, means, provider: 'whatsapp' })

test('what a provider said is there, its code beside the sentence, and what to do about it', () => {
  const { events, advice, fault, isReplayFutile } = explain({})
  expect(events[0]).toEqual({
    at: AT,
    text: 'Send 1 (text) was refused after 12 ms; trying again would not help. It said: Session expired',
    code: '190',
    isTrouble: true,
  })
  expect(advice).toEqual([expect.stringContaining('store a new one'), 'Then: replay it'])
  expect(fault).toMatch(/^The channel/)
  expect(isReplayFutile).toBe(false)
})

test.each(['caller', 'recipient'])('a replay of what is the fault of the %s is not advised', (fault) => {
  const { advice, isReplayFutile } = explain({ fault })
  expect(isReplayFutile).toBe(true)
  expect(advice.join()).not.toContain('replay it')
  expect(advice.join()).toContain('would fail again')
})

describe('no code stands among sentences', () => {
  const CODE = /[a-z]+_[a-z_]+/
  test.each([
    'handler_is_person',
    'handed_off',
    'group_message',
    'app_message',
    'own_send',
    'original_unknown',
  ])('of the reason %s', (reason) => {
    expect(reasonInWords(reason)).not.toMatch(CODE)
    const { verdict, events } = explain({
      state: 'done',
      reason,
      fault: null,
      attempts: [],
      timeline: [{ at: AT, state: 'done', reason }],
    })
    expect([verdict, ...events.map(({ text }) => text)].join()).not.toMatch(CODE)
  })

  test.each(['rate', 'person_rate', 'circuit_breaker', 'host', 'status', 'configuration', 'gathering'])(
    'of the wait for %s',
    (reason) => {
      const { waits } = explain({
        state: 'handled',
        reason: undefined,
        waiting: { for: reason, since: AT, code: 'not_reached' },
      })
      expect(waits).not.toMatch(CODE)
      expect(waits).toMatch(/^It waits for /)
    },
  )
})
