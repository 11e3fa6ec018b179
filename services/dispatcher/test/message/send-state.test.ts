import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Send, SendContent, SendState } from '../../src/message/message-record.ts'
import { isSettled, later, stateOfSends } from '../../src/message/send-state.ts'

const STATES = ['pending', 'claimed', 'sent', 'delivered', 'read', 'failed'] as const
const state = fc.constantFrom<SendState>(...STATES)
const content = fc.constantFrom<SendContent>(
  { kind: 'text', text: 'x' },
  { kind: 'template', template: 't', language: 'en', variables: [] },
  { kind: 'function', name: 'f', position: 0 },
  { kind: 'submit' },
)
const text = (of: SendState): Send => ({ id: 'm:0', state: of, content: { kind: 'text', text: 'x' } })
const call = (of: SendState): Send => ({
  id: 'm:1',
  state: of,
  content: { kind: 'function', name: 'f', position: 0 },
})
const submission: Send = { id: 'm:2', state: 'delivered', content: { kind: 'submit' } }

describe('the later of two states', () => {
  test('is one of them, the same in any order, and the same however they are grouped', () => {
    fc.assert(
      fc.property(state, state, state, (a, b, c) => {
        expect([a, b]).toContain(later(a, b))
        expect(later(a, b)).toBe(later(b, a))
        expect(later(a, later(b, c))).toBe(later(later(a, b), c))
        expect(later(a, a)).toBe(a)
      }),
    )
  })

  test.each([
    ['sent', 'claimed', 'sent'],
    ['delivered', 'sent', 'delivered'],
    ['read', 'delivered', 'read'],
    ['failed', 'sent', 'failed'],
    ['failed', 'delivered', 'delivered'],
    ['failed', 'read', 'read'],
  ] as const)('of %s and %s is %s', (a, b, expected) => {
    expect(later(a, b)).toBe(expected)
  })

  test('takes what is settled never back', () => {
    fc.assert(
      fc.property(state, state, (a, b) => {
        const isSettledAs = (of: SendState) => isSettled(text(of))
        if (isSettledAs(a)) expect(isSettledAs(later(a, b))).toBe(true)
      }),
    )
  })
})

describe('a send is settled', () => {
  test.each<[string, Send | undefined, boolean]>([
    ['not when it is not there', undefined, false],
    ['not when nobody tried it', text('pending'), false],
    ['not when an attempt has it', text('claimed'), false],
    ['once the provider took it', text('sent'), true],
    ['once it failed', text('failed'), true],
    ['once it was delivered', text('delivered'), true],
    ['once it was read', text('read'), true],
  ])('%s', (_name, send, expected) => {
    expect(isSettled(send)).toBe(expected)
  })
})

describe('the state of a message', () => {
  test.each<[string, Send[], string]>([
    ['that only submits', [submission], 'done'],
    ['that only calls', [call('delivered'), submission], 'delivered'],
    ['whose text was read and whose call was made', [text('read'), call('delivered'), submission], 'read'],
    ['whose text was sent and whose call was made', [text('sent'), call('delivered')], 'sent'],
    ['of two texts, one of which failed', [text('failed'), text('read')], 'failed'],
  ])('%s', (_name, sends, expected) => {
    expect(stateOfSends(sends)).toBe(expected)
  })

  test('only moves forward when statuses of its sends arrive, except to failed', () => {
    const RANK = ['done', 'sent', 'delivered', 'read']
    const sends = fc.array(
      fc.record({
        id: fc.constant('m:0'),
        state: fc.constantFrom<SendState>('sent', 'delivered', 'read'),
        content,
      }),
      { minLength: 1, maxLength: 4 },
    )
    fc.assert(
      fc.property(
        sends,
        fc.nat(3),
        fc.constantFrom<SendState>('sent', 'delivered', 'read'),
        (before, at, reported) => {
          const after = before.map((send, index) =>
            index === at ? { ...send, state: later(send.state, reported) } : send,
          )
          expect(RANK.indexOf(stateOfSends(after))).toBeGreaterThanOrEqual(RANK.indexOf(stateOfSends(before)))
        },
      ),
    )
  })
})
