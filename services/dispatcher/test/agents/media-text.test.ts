import { expect, test } from '@jest/globals'
import { personItems } from '../../src/agents/turns/conversation-items.ts'

const itemsOf = (meta: object, more: object = {}) =>
  personItems({
    message: { extId: 'c', user: {}, thread: {}, answer: {}, meta, ...more },
    source: 'meta',
  })
const textOf = (meta: object, more?: object) =>
  itemsOf(meta, more).map((item) => ('text' in item ? item.text : ''))

test.each([
  [
    'a document',
    { document: { id: '1', filename: 'bill.pdf' } },
    '[The person sent a document, which you can not read: bill.pdf.]',
  ],
  ['a video', { video: { id: '1' } }, '[The person sent a video, which you can not see.]'],
  ['a location', { location: { latitude: 1.5, longitude: 2 } }, '[The person sent a location: 1.5, 2]'],
  [
    'contacts',
    { contacts: [{ name: { formatted_name: 'Rui' }, emails: [{ email: 'rui@example.com' }] }] },
    '[The person sent contacts: Rui, rui@example.com]',
  ],
  ['a list entry', { interactive: { list_reply: { id: 'a', title: 'A' } } }, '[The person chose: a]'],
  [
    'a form',
    { interactive: { nfm_reply: { response_json: '{"day":"Friday"}' } } },
    '[The person filled in a form: {"day":"Friday"}]',
  ],
  ['a button', { button: { payload: 'yes', text: 'Yes' } }, '[The person pressed a button: yes]'],
  ['a reaction', { reaction: { emoji: '👍' } }, '[The person reacted with 👍.]'],
  ['a reaction taken back', { reaction: { emoji: '' } }, '[The person took a reaction back.]'],
])('a model reads %s as text', (_what, meta, text) => {
  expect(textOf(meta)).toEqual([text])
})

test('what the person wrote comes before it', () => {
  expect(textOf({ location: { latitude: 1, longitude: 2 } }, { input: 'Here' })).toEqual([
    'Here\n[The person sent a location: 1, 2]',
  ])
})

test('anything may come in its place', () => {
  for (const value of [null, 7, 'x', [], {}, [null], { latitude: {} }, { button_reply: 7 }, { name: [] }])
    for (const type of [
      'image',
      'document',
      'location',
      'contacts',
      'interactive',
      'button',
      'reaction',
      'order',
    ])
      for (const item of itemsOf({ [type]: value })) expect(item.role).toBe('person')
  expect(textOf({ contacts: Array(10_000).fill({ name: { formatted_name: 'x'.repeat(1_000) } }) })[0]?.length)
    // Whatever comes is cut.
    .toBeLessThan(5_000)
})

test('an image of Meta is named by its id, and one that a caller names is not', () => {
  const meta = { image: { id: '4711' } }
  expect(itemsOf(meta)).toEqual([{ role: 'person', text: '', image: { source: 'meta', mediaId: '4711' } }])
  const message = { extId: 'c', user: {}, thread: {}, answer: {}, meta }
  expect(personItems({ message, source: 'api' })).toEqual([])
})
