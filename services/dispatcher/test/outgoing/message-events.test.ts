import { expect, test } from '@jest/globals'
import { advanced, type MessageRecord } from '@parley/dispatcher/message/message-record'
import { claimed, ended, replayed, settledSend } from '@parley/dispatcher/message/progress'
import { eventsOfMessage } from '@parley/dispatcher/outgoing/message-deliveries'
import { applyStatuses, type SendStatus } from '@parley/dispatcher/statuses/apply-statuses'
import fc from 'fast-check'
import { newRecord } from '../new-record.ts'

const RETENTION_MS = 1_000
const typesOf = (record: MessageRecord) => eventsOfMessage(record).map(({ type }) => type.split('.')[1])
const sent = (record: MessageRecord, at: number) =>
  advanced(
    record,
    settledSend(record, {
      index: 0,
      settlement: { kind: 'settled', delivered: false, providerId: 'p' },
      attempt: { at: new Date(at), step: '', outcome: 'accepted', ms: 1 },
      at,
      retentionMs: RETENTION_MS,
    }),
  )
const reported = (record: MessageRecord, state: SendStatus['state'], at: number) => {
  const progress = applyStatuses(record, [{ index: 0, state, providerId: 'p', at: new Date(at) }])
  return progress === undefined ? record : advanced(record, progress)
}
const message = (): MessageRecord => ({
  ...newRecord(),
  sends: [{ id: 'm:0', content: { kind: 'text', text: 'x' }, state: 'pending' }],
})
const claim = (record: MessageRecord, at: number) => advanced(record, claimed(record, { index: 0, at }))
const dead = (record: MessageRecord, at: number) =>
  advanced(record, ended(record, { end: { state: 'dead', reason: 'x' }, at, retentionMs: RETENTION_MS }))

test('a message that was read at once was sent and delivered too', () => {
  const seen = reported(sent(claim(message(), 1), 2), 'read', 3)
  expect(typesOf(seen)).toEqual(['received', 'sent', 'delivered', 'read'])
})

test('a message whose first status comes before the answer to its send has an event of each state', () => {
  const early = reported(claim(message(), 1), 'delivered', 2)
  expect(typesOf(early)).toEqual(['received'])
  expect(typesOf(sent(early, 3))).toEqual(['received', 'sent', 'delivered'])
})

test('each run of a message has events of its own', () => {
  const first = dead(message(), 10)
  const second = dead(replayed(first, { at: new Date(20), partition: 0, order: 2 }), 30)
  const third = sent(claim(replayed(second, { at: new Date(40), partition: 0, order: 3 }), 41), 42)
  expect(eventsOfMessage(third).map(({ key }) => key)).toEqual(['received', 'dead:0', 'dead:20', 'sent:40'])
})

test('whatever a message goes through, its events are only ever added, each once and in order', () => {
  const step = fc.oneof(
    ...(['claim', 'sent', 'dead', 'replay'] as const).map((kind) => fc.constant({ kind })),
    fc.record({
      kind: fc.constant('status' as const),
      state: fc.constantFrom('sent', 'delivered', 'read', 'failed'),
    }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let record = message()
      let known: string[] = eventsOfMessage(record).map(({ key }) => key)
      for (const [position, one] of steps.entries()) {
        const at = 1_000 + position
        const [send] = record.sends
        if (one.kind === 'claim' && record.open && send?.state === 'pending') record = claim(record, at)
        else if (one.kind === 'sent' && record.open && send?.state === 'claimed') record = sent(record, at)
        else if (one.kind === 'dead' && record.open) record = dead(record, at)
        else if (one.kind === 'replay' && !record.open && ['dead', 'failed'].includes(record.state))
          record = replayed(record, { at: new Date(at), partition: 0, order: position })
        else if (one.kind === 'status' && send?.state !== 'pending')
          record = reported(record, one.state as SendStatus['state'], at)
        const now = eventsOfMessage(record).map(({ key }) => key)
        expect(now.slice(0, known.length)).toEqual(known)
        expect(new Set(now).size).toBe(now.length)
        const state = record.state
        if (['sent', 'delivered', 'read', 'failed', 'dead'].includes(state))
          expect(now.some((key) => key.startsWith(state))).toBe(true)
        known = now
      }
    }),
  )
})

test('a state that a provider dates before the subscription was stored when we learned of it', () => {
  const record = { ...reported(sent(claim(message(), 100), 200), 'delivered', 50), updatedAt: new Date(300) }
  expect(eventsOfMessage(record).at(-1)).toMatchObject({ type: 'message.delivered', storedBy: 300 })
})
