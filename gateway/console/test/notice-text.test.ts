import { expect, test } from '@jest/globals'
import { isRequested, noticeText } from '../src/notice-text.ts'
import type { Thread } from '../src/threads.ts'

const OWN = 1
const NONE = {
  ...{ sound: true, desktop: true },
  ...{ messages: false, handOvers: false, assignments: false, onlyOwn: false },
}
const ofColleague = { assignee: { _id: 2, name: 'Bruno', at: '', by: 1 } }
const own = { assignee: { _id: OWN, name: 'Ana', at: '', by: 2 } }
const AT = '2026-11-21T12:00:00Z'
const handedOver = {
  unreadFor: { why: 'handed_off', reason: 'asks for a person', at: AT },
  lastUnreadAt: AT,
} as const
const LATER = { ...handedOver, lastUnreadAt: '2026-11-21T12:01:00Z' }
const MESSAGES = { ...NONE, messages: true }
const HAND_OVERS = { ...NONE, handOvers: true }

test.each<[what: string, on: Partial<Thread>, settings: typeof NONE, isReported: boolean]>([
  ['a message', {}, MESSAGES, true],
  ['a message', {}, HAND_OVERS, false],
  ['a message to nobody’s conversation', {}, { ...MESSAGES, onlyOwn: true }, true],
  ['a message in a colleague’s conversation', ofColleague, MESSAGES, true],
  ['a message in a colleague’s conversation', ofColleague, { ...MESSAGES, onlyOwn: true }, false],
  ['a message in one’s own conversation', own, { ...MESSAGES, onlyOwn: true }, true],
  ['a hand-over', handedOver, HAND_OVERS, true],
  ['a hand-over', handedOver, MESSAGES, false],
  ['what is written after a hand-over', LATER, MESSAGES, true],
  ['a hand-over', { ...handedOver, ...ofColleague }, { ...HAND_OVERS, onlyOwn: true }, false],
])('of %s (%j) an account with %j is told: %s', (_what, on, settings, isReported) => {
  const thread = { ...on } as Thread
  expect(
    isRequested(
      { kind: 'message', thread, isHandOver: thread.unreadFor !== undefined },
      { settings, own: OWN },
    ),
  ).toBe(isReported)
})

test('what is written after a hand-over that was told is no other hand-over', () => {
  const due = { kind: 'message', thread: LATER as Thread, isHandOver: false } as const
  expect(isRequested(due, { settings: HAND_OVERS, own: OWN })).toBe(false)
})

test.each([true, false])(
  'that a conversation is assigned is told where assignments are: %s',
  (assignments) => {
    const due = { kind: 'assignment', thread: own as Thread } as const
    const settings = { ...NONE, assignments, onlyOwn: true }
    expect(isRequested(due, { settings, own: OWN })).toBe(assignments)
  },
)

test.each([
  ['message', 1, 'Where is it?'],
  ['message', 3, '3 new messages. Where is it?'],
  ['assignment', 1, 'Assigned to you. Where is it?'],
] as const)('of a %s the notice of %i says “%s”', (kind, count, text) => {
  expect(noticeText({ kind, count, thread: { lastMessage: 'Where is it?' } as Thread })).toBe(text)
})

test('a notice has the beginning of a long message', () => {
  const thread = { lastMessage: 'x'.repeat(1_000) } as Thread
  expect(noticeText({ kind: 'message', count: 1, thread })).toBe('x'.repeat(140))
})
