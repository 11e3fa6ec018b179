import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { MessageRecord, Send, SendState } from '../../src/message/message-record.ts'
import { isResumable, resumed, settledSend, triesOf, unsettled } from '../../src/message/progress.ts'
import { later } from '../../src/message/send-state.ts'
import { settleFailure } from '../../src/message/settle.ts'
import { applyStatuses, type SendStatus } from '../../src/statuses/apply-statuses.ts'
import { newRecord } from '../new-record.ts'

const at = new Date('2026-01-01T00:00:00Z')

/** An ended message with sends in these states. */
function record(sends: SendState[], change: Partial<MessageRecord> = {}): MessageRecord {
  const { open: _open, ...ended } = newRecord({
    revision: 3,
    state: 'sent',
    sends: sends.map((state, index) => ({ id: `m:${index}`, state, content: { kind: 'text', text: 'x' } })),
  })
  return { ...ended, ...change }
}
const status = (index: number, state: SendStatus['state']): SendStatus => ({
  index,
  state,
  providerId: 'wamid.1',
  at,
})

describe('statuses of sends', () => {
  test.each<[string, SendState[], SendStatus[], string]>([
    ['one delivered', ['sent'], [status(0, 'delivered')], 'delivered'],
    ['one read without a word of its delivery', ['sent'], [status(0, 'read')], 'read'],
    ['one of two delivered', ['sent', 'sent'], [status(0, 'delivered')], 'sent'],
    ['both, as far as the least', ['sent', 'sent'], [status(0, 'read'), status(1, 'delivered')], 'delivered'],
    ['one failed', ['sent', 'read'], [status(0, 'failed')], 'failed'],
    ['failed, then delivered after all', ['failed'], [status(0, 'delivered')], 'delivered'],
  ])('%s', (_name, sends, statuses, state) => {
    const before = stateBefore(sends)
    expect({ state: before, ...applyStatuses(record(sends, { state: before }), statuses) }.state).toBe(state)
  })
  const stateBefore = (sends: SendState[]) => (sends.includes('failed') ? 'failed' : 'sent')

  test.each<[string, SendState[], SendStatus[]]>([
    ['what is known', ['delivered'], [status(0, 'delivered')]],
    ['an earlier state', ['read'], [status(0, 'sent'), status(0, 'delivered')]],
    ['a failure after delivery', ['delivered'], [status(0, 'failed')]],
    ['a send that is not there', ['sent'], [status(7, 'read')]],
  ])('%s changes nothing', (_name, sends, statuses) => {
    expect(applyStatuses(record(sends), statuses)).toBeUndefined()
  })

  test('settles an uncertain send of a message in flight: it is no longer waited for', () => {
    const waiting = record(['claimed', 'pending'], { state: 'sending', open: true, due: at, tries: 1 })
    const progress = applyStatuses(waiting, [status(0, 'sent')])
    expect(progress).toMatchObject({ state: 'sending', open: true })
    expect(progress?.sends.map(({ state }) => state)).toEqual(['sent', 'pending'])
    expect(progress).not.toHaveProperty('due')
  })

  test('that settle a send leave the next one all of its tries', () => {
    const waiting = record(['claimed', 'pending'], { state: 'sending', open: true, due: at, tries: 7 })
    for (const state of ['sent', 'failed'] as const)
      expect(applyStatuses(waiting, [status(0, state)])).toMatchObject({ open: true, tries: 0 })
  })

  test('of one send leave the wait of another as it is, whether uncertain or to be tried again', () => {
    const due = new Date('2026-01-02T00:00:00Z')
    for (const [next, waitingFor] of [
      ['claimed', 'status'],
      ['pending', 'retry'],
    ] as const) {
      const waiting = record(['sent', next], { state: 'sending', open: true, due, waitingFor, tries: 1 })
      expect(applyStatuses(waiting, [status(0, 'read')])).toMatchObject({
        open: true,
        due,
        waitingFor,
        tries: 1,
      })
    }
    const asksModel = record(['sent'], { state: 'sending', open: true, due, waitingFor: 'retry', turns: [] })
    expect(applyStatuses(asksModel, [status(0, 'read')])).toMatchObject({ due, waitingFor: 'retry' })
  })

  test('of an attempt that failed change nothing once it is sent again, unless it was delivered after all', () => {
    const [send] = record(['sent']).sends as [Send]
    const sentAgain = (state: SendState, providerId: string) =>
      record([], { state: 'sending', open: true, sends: [{ ...send, state, providerId }] })
    for (const late of ['sent', 'failed'] as const)
      for (const state of ['pending', 'claimed'] as const)
        expect(applyStatuses(sentAgain(state, 'wamid.1'), [status(0, late)])).toBeUndefined()
    expect(applyStatuses(sentAgain('sent', 'wamid.1'), [status(0, 'failed')])).toBeDefined()
    expect(applyStatuses(sentAgain('pending', 'wamid.1'), [status(0, 'delivered')])).toBeDefined()
    expect(applyStatuses(sentAgain('claimed', 'wamid.0'), [status(0, 'sent')])?.sends).toMatchObject([
      { state: 'sent', providerId: 'wamid.1' },
    ])
  })

  test('brings a message that was given up back to life when all of it got there', () => {
    const dead = record(['sent', 'claimed'], { state: 'dead', reason: 'No answer.', fault: 'provider' })
    expect(applyStatuses(dead, [status(1, 'delivered')])?.state).toBe('sent')
  })

  test('leave nothing of an earlier failure once all of it got there', () => {
    const failure = { reason: 'Given up after 8 tries.', fault: 'provider' } as const
    for (const state of ['dead', 'failed'] as const) {
      const failed = record(['failed'], { ...failure, state })
      const progress = applyStatuses(failed, [status(0, 'delivered')])
      expect(progress?.state).toBe('delivered')
      expect([progress?.reason, progress?.fault]).toEqual([undefined, undefined])
      expect(
        applyStatuses({ ...failed, sends: record(['sent', 'failed']).sends }, [status(0, 'read')]),
      ).toMatchObject(state === 'failed' ? failure : { state: 'failed', fault: 'provider' })
    }
  })

  test('change the sends of a message whose end was decided, and not its end', () => {
    const ending = { state: 'dead', reason: 'No end within 8 turns.', fault: 'channel' } as const
    const dead = record(['sent'], { ...ending, ending })
    expect(applyStatuses(dead, [status(0, 'delivered')])).toMatchObject({
      ...ending,
      sends: [{ state: 'delivered' }],
    })
  })

  test('in any order and any number of times comes to the same', () => {
    const states = fc.constantFrom<SendStatus['state']>('sent', 'delivered', 'read', 'failed')
    const someStatuses = fc.array(fc.record({ index: fc.integer({ min: 0, max: 2 }), state: states }), {
      minLength: 1,
    })
    fc.assert(
      fc.property(someStatuses, fc.infiniteStream(fc.integer({ min: 0, max: 1_000 })), (some, places) => {
        const all = some.map(({ index, state }) => status(index, state))
        const shuffled = all
          .map((one) => ({ one, place: places.next().value ?? 0 }))
          .sort((a, b) => a.place - b.place)
          .map(({ one }) => one)
        const run = (statuses: SendStatus[]) => {
          let present = record(['sent', 'sent', 'sent'])
          for (const one of statuses) present = { ...present, ...applyStatuses(present, [one]) }
          return present
        }
        const statesOf = ({ sends, state }: MessageRecord) => [state, ...sends.map((send) => send.state)]
        expect(statesOf(run([...shuffled, ...all]))).toEqual(statesOf(run(all)))
      }),
    )
  })

  test('the later of two states is one of them, whichever comes first', () => {
    const states = fc.constantFrom<SendState>('pending', 'claimed', 'sent', 'delivered', 'read', 'failed')
    fc.assert(fc.property(states, states, (a, b) => expect(later(a, b)).toBe(later(b, a))))
  })
})

describe('a failure that is reported after the send was taken', () => {
  const now = at.getTime()
  const retryable = { kind: 'retryable', code: '131000', fault: 'provider', reason: 'It failed.' } as const
  const permanent = { kind: 'permanent', code: '131050', fault: 'recipient', reason: 'Stopped.' } as const
  const failedAs = (failure: NonNullable<SendStatus['failure']>, providerId = 'wamid.1'): SendStatus => ({
    ...status(0, 'failed'),
    ...{ failure, providerId },
  })
  const taken = (change: Partial<Send> = {}, more: Partial<MessageRecord> = {}) => {
    const [send] = record(['sent']).sends as [Send]
    return record([], { sends: [{ ...send, providerId: 'wamid.1', ...change }], ...more })
  }
  const after = (before: MessageRecord, ...statuses: SendStatus[]): MessageRecord => ({
    ...before,
    ...applyStatuses(before, statuses, now),
  })

  test('ends the message, with the code, whose fault it is and an attempt', () => {
    expect(after(taken(), failedAs(permanent))).toMatchObject({
      ...{ state: 'failed', fault: 'recipient', reason: 'Stopped.' },
      sends: [{ state: 'failed', failure: { code: '131050', fault: 'recipient', reason: 'Stopped.' } }],
      attempts: [{ step: 'm:0', outcome: 'permanent', code: '131050' }],
      timeline: [{ state: 'failed', reason: 'Stopped.' }],
    })
  })

  test('leaves the message as it is where it is to be sent again, at a time of its own', () => {
    const failed = after(taken(), failedAs(retryable))
    expect(failed).toMatchObject({ state: 'sent', sends: [{ state: 'failed', tries: 1 }] })
    expect(failed.sends[0]?.retryAt).toEqual(new Date(now + 1_000))
    const slow = after(taken(), failedAs({ ...retryable, retryAfterSeconds: 3_600 }))
    expect(slow.sends[0]?.retryAt).toEqual(new Date(now + 3_600_000))
    expect(isResumable(failed)).toBe(true)
  })

  test.each<[string, Partial<MessageRecord>]>([
    ['was given up', { state: 'dead', reason: 'x', fault: 'us' }],
    ['has its end decided', { ending: { state: 'done', reason: 'handed_off' } }],
    ['a person has taken over', { takenOver: at }],
  ])('is final for a message that %s', (_name, change) => {
    expect(isResumable(after(taken({}, change), failedAs(retryable)))).toBe(false)
  })

  test('counts once, and says nothing of a later attempt that was taken', () => {
    const again = taken({ providerId: 'wamid.2', failedIds: ['wamid.1'], tries: 1 })
    expect(applyStatuses(again, [failedAs(retryable)], now)).toBeUndefined()
    expect(after(again, failedAs(retryable, 'wamid.2')).sends[0]).toMatchObject({ tries: 2 })
    const uncertain = { at, step: 'm:0', outcome: 'uncertain', ms: 1 } as const
    const sentTwice = taken({ providerId: 'wamid.2' }, { attempts: [uncertain] })
    expect(applyStatuses(sentTwice, [failedAs(retryable)], now)).toBeUndefined()
  })

  test('is forgotten when it was delivered after all', () => {
    const delivered = after(after(taken(), failedAs(retryable)), status(0, 'delivered'))
    expect(delivered).toMatchObject({ state: 'delivered' })
    expect(isResumable(delivered)).toBe(false)
    expect(delivered.sends[0]).not.toHaveProperty('failure')
  })

  test('has what failed sent eight times in all, with what failed at once', () => {
    const immediate = fc.array(fc.nat(3), { minLength: 8, maxLength: 8 })
    fc.assert(
      fc.property(immediate, (failuresAtOnce) => {
        let message = taken()
        let sends = 1
        let tried = 1
        for (const atOnce of failuresAtOnce) {
          message = after(message, failedAs(retryable, `wamid.${sends}`))
          if (!isResumable(message)) break
          message = { ...message, ...resumed(message), state: 'sending' }
          for (let failed = 0; failed < atOnce; failed++) {
            const settlement = settleFailure({
              ...{ outcome: retryable, tries: triesOf(message, 0), reports: true, uncertainWindow: 0 },
            })
            tried++
            message = {
              ...message,
              ...unsettled(message, { index: 0, settlement, attempt, at: now, retentionMs: 1 }),
            }
            if (settlement.kind === 'dead') break
          }
          if (message.state === 'dead') break
          tried++
          sends++
          const providerId = `wamid.${sends}`
          const settlement = { kind: 'settled', providerId, delivered: false } as const
          const { open: _open, ...settled } = settledSend(message, {
            ...{ index: 0, settlement, attempt, at: now, retentionMs: 1 },
          })
          message = { ...message, ...settled, open: undefined }
        }
        expect(tried).toBeLessThanOrEqual(8)
        expect(isResumable(message) && tried === 8).toBe(false)
      }),
    )
  })

  const attempt = { at, step: 'm:0', outcome: 'retryable', code: '131000', ms: 1 } as const

  test('of an earlier attempt does not undo that a later one was taken while it came', () => {
    const inFlight = record(['claimed'], { state: 'sending', open: true })
    const failed = after(inFlight, failedAs(retryable))
    const settlement = { kind: 'settled', providerId: 'wamid.2', delivered: false } as const
    const options = { index: 0, settlement, attempt, at: now, retentionMs: 1 }
    expect(settledSend(failed, options)).toMatchObject({ state: 'sent', sends: [{ providerId: 'wamid.2' }] })
    const own = settledSend(failed, { ...options, settlement: { ...settlement, providerId: 'wamid.1' } })
    expect([own.open, own.sends[0]?.state]).toEqual([true, 'failed'])
  })
})
