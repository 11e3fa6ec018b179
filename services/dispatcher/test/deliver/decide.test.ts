import { expect, test } from '@jest/globals'
import { TEST_TIMES } from '@parley/local/testing/test-times'
import fc from 'fast-check'
import { decide } from '../../src/deliver/decide.ts'
import type { Facts, Step } from '../../src/deliver/step.ts'
import type { Send, TimelineEntry } from '../../src/message/message-record.ts'
import type { Turn } from '../../src/message/turn.ts'
import { newRecord } from '../new-record.ts'

const NOW = Date.parse('2026-01-01T00:01:00Z')
/** Steps that send something, or ask somebody for something to send. */
const OUTWARD: Step['kind'][] = ['send', 'call', 'askModel', 'askHandler']

const send: fc.Arbitrary<Send> = fc
  .record({
    state: fc.constantFrom('pending', 'claimed', 'sent', 'failed'),
    content: fc.constantFrom<Send['content']>(
      { kind: 'text', text: 'Hello' },
      { kind: 'tool', name: 'note' },
      { kind: 'submit' },
      { kind: 'function', name: 'a', position: 0 },
    ),
  })
  .map((one) => ({ id: 'm:0', of: { turn: 0 }, ...one }))
const turn = {
  ...{ at: new Date(NOW), ms: 1, provider: 'openai', model: 'm', inputTokens: 1, outputTokens: 1 },
  ...{ finishReason: 'stop', text: '', calls: [] },
} as Turn
const message = { extId: 'c', user: { phone: '1' }, thread: {}, answer: {} }
const record = fc
  .record(
    {
      state: fc.constantFrom('received', 'handled', 'sending'),
      inbound: fc.constant(true as const),
      sends: fc.array(send, { maxLength: 3 }),
      turns: fc.constantFrom<Turn[]>([], [turn]),
      takenOver: fc.constant(new Date(NOW)),
      due: fc.constantFrom(new Date(NOW - 1), new Date(NOW + 60_000)),
      timeline: fc.constantFrom<TimelineEntry[]>(
        [],
        [{ at: new Date(1), state: 'received', reason: 'It is run again.' }],
      ),
    },
    { requiredKeys: ['state', 'sends', 'timeline'] },
  )
  .map((change) => newRecord({ body: JSON.stringify(message), ...change }))
const facts = fc
  .record(
    {
      handlerUrl: fc.constantFrom('native:agents/chat', 'https://handler.example/', undefined),
      isWithPerson: fc.boolean(),
      isPlanned: fc.boolean(),
      handled: fc.constant({ kind: 'answer' as const, answer: { message: 'Hello' }, ms: 1 }),
      check: fc.constant({ kind: 'fine' as const }),
    },
    { requiredKeys: [] },
  )
  .map(({ handlerUrl, ...known }): Facts => {
    const channel = { _id: 1, workspace: 1, hook: 'rpc', callback: 'rpc', config: {} } as const
    const base = { now: NOW, times: TEST_TIMES, message, hasAgents: true }
    return { ...base, ...known, ...(handlerUrl && { channel: { ...channel, handlerUrl } }) }
  })

test('whatever is known of a message, a rule says what it does next, and the same once more', () => {
  fc.assert(
    fc.property(record, facts, (one, known) => expect(decide(one, known)).toEqual(decide(one, known))),
  )
})

test('nothing leaves of a message that a person has taken over, and nobody is asked for it', () => {
  fc.assert(
    fc.property(record, facts, (one, known) => {
      const { kind } = decide({ ...one, takenOver: new Date(NOW) }, known)
      expect(OUTWARD).not.toContain(kind)
    }),
  )
})

test('nobody is asked to answer what a person has, or who has it is not known', () => {
  fc.assert(
    fc.property(record, facts, (one, known) => {
      const { kind } = decide(one, { ...known, isWithPerson: true })
      expect(['askModel', 'askHandler']).not.toContain(kind)
      const { isWithPerson: _isWithPerson, ...unknown } = known
      expect(['askModel', 'askHandler']).not.toContain(decide(one, unknown).kind)
    }),
  )
})

test('nothing is done before a message is due, but what a person has taken over ends', () => {
  fc.assert(
    fc.property(record, facts, (one, known) => {
      const { kind } = decide({ ...one, due: new Date(NOW + 1) }, known)
      if (one.takenOver === undefined) expect(['wait', 'readAgain']).toContain(kind)
    }),
  )
})
