import { expect, test } from '@jest/globals'
import { ownReaction, withReactions } from '../src/reactions.ts'
import type { Said } from '../src/threads.ts'

let last = 0
const said = (more: Partial<Said>): Said => ({
  ...{ _id: `e-${++last}`, message: 'm', at: new Date(last).toISOString(), from: 'person', state: 'done' },
  ...more,
})
const to = ({ _id }: Said) => ({ _id, from: 'person' as const, text: 'x' })
const emojisAt = (items: Said[], { _id }: Said) =>
  withReactions(items)
    .reactions.get(_id)
    ?.map(({ emoji }) => emoji)

test('the last reaction of the person and that of the business stand at what they are to', () => {
  const [first, other] = [said({ text: 'Hello' }), said({ text: 'Bye' })]
  const items = [
    ...[first, other],
    said({ reaction: '👍', quoted: to(first) }),
    said({ reaction: '❤️', quoted: to(first) }),
    said({ from: 'team', reaction: '🙏', quoted: to(first), state: 'sent' }),
  ]
  expect(withReactions(items).items).toEqual([first, other])
  expect(emojisAt(items, first)).toEqual(['❤️', '🙏'])
  expect(emojisAt(items, other)).toBeUndefined()
  expect(ownReaction(withReactions(items).reactions.get(first._id))?.emoji).toBe('🙏')
  expect(ownReaction(undefined)).toBeUndefined()
})

test('a reaction that was taken back stands nowhere', () => {
  const first = said({ text: 'Hello' })
  const items = [
    first,
    said({ reaction: '👍', quoted: to(first) }),
    said({ reaction: '', quoted: to(first) }),
  ]
  expect(withReactions(items).items).toEqual([first])
  expect(emojisAt(items, first)).toEqual([])
})

test('in a group everybody has a reaction of their own', () => {
  const first = said({ text: 'Hello' })
  const of = (name: string, reaction: string) => said({ name, reaction, quoted: to(first) })
  expect(emojisAt([first, of('Ana', '👍'), of('Rui', '👍'), of('Ana', '')], first)).toEqual(['👍'])
})

test('one that did not get there, and one to what is not shown, are entries of their own', () => {
  const first = said({ text: 'Hello' })
  const items = [
    first,
    said({ from: 'team', reaction: '👍', quoted: to(first), state: 'failed' }),
    said({ reaction: '👍', quoted: { _id: 'older', from: 'person', text: 'x' } }),
    said({ reaction: '👍' }),
  ]
  expect(withReactions(items).items).toEqual(items)
})
