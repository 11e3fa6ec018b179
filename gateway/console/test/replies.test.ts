import { describe, expect, test } from '@jest/globals'
import { usualProvider } from '@parley/shared/providers/registry'
import {
  type Draft,
  draftOf,
  isEmpty,
  repliesOf,
  withFile,
  withoutFile,
  withoutSent,
} from '../src/replies.ts'

const provider = usualProvider()
const file = (_id: string, type: 'image' | 'audio' = 'image') => ({
  ...{ _id, type, name: `${_id}.png`, bytes: 1, at: Number(_id) },
})
const replies = (draft: Partial<Draft>) =>
  repliesOf({ kind: 'text', draft: draftOf(draft), provider, template: undefined })

describe('the replies of a draft', () => {
  test.each([
    ['nothing', {}, []],
    ['blanks', { text: ' \n' }, []],
    ['a text', { text: 'Hi' }, [{ text: 'Hi' }]],
    [
      'a text that is the caption of the first file',
      { text: 'Hi', files: [file('1'), file('2')] },
      [
        { whatsapp: { type: 'image', image: { id: '1', caption: 'Hi' } } },
        { whatsapp: { type: 'image', image: { id: '2' } } },
      ],
    ],
    [
      'a text after audio, which has no caption',
      { text: 'Hi', files: [file('1', 'audio')] },
      [{ whatsapp: { type: 'audio', audio: { id: '1' } } }, { text: 'Hi' }],
    ],
    [
      'a text that is too long for a caption',
      { text: 'x'.repeat(1_025), files: [file('1')] },
      [{ whatsapp: { type: 'image', image: { id: '1' } } }, { text: 'x'.repeat(1_025) }],
    ],
    [
      'a quote, of which the first is the reply',
      { text: 'Hi', files: [file('1', 'audio')], quoted: { _id: 'm', text: 'What?' } },
      [{ whatsapp: { type: 'audio', audio: { id: '1' } }, quoted: 'm' }, { text: 'Hi' }],
    ],
  ])('are of %s', (_name, draft, expected) => {
    expect(replies(draft as Partial<Draft>)).toEqual(expected)
  })

  test('that failed halfway are not sent twice', () => {
    const sent = draftOf({ text: 'Hi', files: [file('1'), file('2')], quoted: { _id: 'm', text: 'What?' } })
    const left = withoutFile(sent, sent, 0)
    expect(replies(left)).toEqual([{ whatsapp: { type: 'image', image: { id: '2' } } }])
  })

  test('leave what was typed meanwhile, and what was typed of other kinds', () => {
    const sent = draftOf({ text: 'Hi', template: 'order_update' })
    const now = { ...sent, text: 'Hi there', files: [file('9')] }
    const left = withoutSent(now, { sent, kind: 'text' })
    expect(left).toMatchObject({ text: 'Hi there', template: 'order_update', files: [{ _id: '9' }] })
    expect(isEmpty(left)).toBe(false)
    expect(isEmpty(withoutSent(sent, { sent, kind: 'text' }))).toBe(false)
    const text = draftOf({ text: 'Hi' })
    expect(isEmpty(withoutSent(text, { sent: text, kind: 'text' }))).toBe(true)
  })
})

test('files are sent as they were attached, whichever of them got to the provider first', () => {
  const arrived = [file('2'), file('3'), file('1')].reduce(withFile, draftOf({ text: 'Hi' }))
  expect(arrived.files.map(({ _id }) => _id)).toEqual(['1', '2', '3'])
})
