import { describe, expect, test } from '@jest/globals'
import { objects } from '@parley/shared/providers/whatsapp/objects'

const LINK = 'https://example.com/a.png'
const reply = (id: string, title: string) => ({ type: 'reply', reply: { id, title } })
const interactive = (type: string, action: object, more: object = {}) => ({
  type: 'interactive',
  interactive: { type, body: { text: 'Which?' }, action, ...more },
})
const of = (more: object) => objects.compose({ message: 'Which?', ...more })
const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ title: `row ${n}` }))

describe('what is said beside a text', () => {
  test.each([
    [
      'buttons',
      { buttons: [{ id: 's', title: 'Small' }, { title: 'Large' }] },
      interactive('button', { buttons: [reply('s', 'Small'), reply('Large', 'Large')] }),
    ],
    [
      'buttons below an image',
      { buttons: [{ title: 'Buy' }], image: { link: LINK }, footer: 'Ends soon' },
      interactive(
        'button',
        { buttons: [reply('Buy', 'Buy')] },
        { header: { type: 'image', image: { link: LINK } }, footer: { text: 'Ends soon' } },
      ),
    ],
    [
      'a button that opens a page',
      { buttons: [{ title: 'Track it', url: LINK }], header: 'Order' },
      interactive(
        'cta_url',
        { name: 'cta_url', parameters: { display_text: 'Track it', url: LINK } },
        { header: { type: 'text', text: 'Order' } },
      ),
    ],
    [
      'a list',
      { list: { button: 'Choose', rows: [{ id: '1', title: 'S', description: 'Small' }] } },
      interactive('list', {
        button: 'Choose',
        sections: [{ rows: [{ id: '1', title: 'S', description: 'Small' }] }],
      }),
    ],
    [
      'a list in sections',
      { list: { button: 'Choose', sections: [{ title: 'A', rows: [{ title: 'S' }] }] } },
      interactive('list', {
        button: 'Choose',
        sections: [{ title: 'A', rows: [{ id: 'S', title: 'S' }] }],
      }),
    ],
    ['an image', { image: { link: LINK } }, { type: 'image', image: { link: LINK, caption: 'Which?' } }],
    [
      'a document',
      { document: { link: LINK, filename: 'a.png' }, message: undefined },
      { type: 'document', document: { link: LINK, filename: 'a.png' } },
    ],
    [
      'a place',
      { message: undefined, location: { latitude: 1, longitude: 2, name: 'Shop' } },
      { type: 'location', location: { latitude: 1, longitude: 2, name: 'Shop' } },
    ],
  ])('is %s', (_name, more, object) => {
    const given = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined))
    const composed = 'message' in more ? objects.compose(given) : of(given)
    expect(composed).toEqual({ kind: 'composed', object })
  })

  test.each([
    ['four buttons', { buttons: ['a', 'b', 'c', 'd'].map((title) => ({ title })) }, ['buttons']],
    ['a title of 21 characters', { buttons: [{ title: 'x'.repeat(21) }] }, ['buttons/0/title']],
    ['two buttons of one id', { buttons: [{ title: 'a' }, { id: 'a', title: 'b' }] }, ['buttons']],
    ['two pages', { buttons: [{ title: 'a', url: LINK }, { title: 'b' }] }, ['buttons']],
    ['a long message above buttons', { buttons: [{ title: 'a' }], message: 'x'.repeat(1_025) }, ['message']],
    ['eleven rows', { list: { button: 'Choose', rows: rows(11) } }, ['list/rows']],
    [
      'eleven rows in two sections',
      {
        list: {
          button: 'Choose',
          sections: [
            { title: 'A', rows: rows(6) },
            { title: 'B', rows: rows(5) },
          ],
        },
      },
      ['list/sections'],
    ],
    [
      'sections without titles',
      {
        list: {
          button: 'Choose',
          sections: [{ title: 'A', rows: [{ title: 'a' }] }, { rows: [{ title: 'b' }] }],
        },
      },
      ['list/sections/1/title'],
    ],
    [
      'a row of 25 characters',
      { list: { button: 'C', rows: [{ title: 'x'.repeat(25) }] } },
      ['list/rows/0/title'],
    ],
    ['a list with neither rows nor sections', { list: { button: 'C' } }, ['list/rows']],
    ['buttons and a list', { list: { button: 'C', rows: rows(1) }, buttons: [{ title: 'a' }] }, ['buttons']],
    ['an image below a list', { list: { button: 'C', rows: rows(1) }, image: { link: LINK } }, ['image']],
    [
      'a text and an image above',
      { buttons: [{ title: 'a' }], image: { link: LINK }, header: 'x' },
      ['image'],
    ],
    [
      'an image and a video above',
      { buttons: [{ title: 'a' }], image: { link: LINK }, video: { link: LINK } },
      ['video'],
    ],
    ['an image and a video', { image: { link: LINK }, video: { link: LINK } }, ['video']],
    ['a name of an image', { image: { link: LINK, filename: 'a' } }, ['image/filename']],
    ['a title of blanks', { buttons: [{ title: ' ' }] }, ['buttons/0/title']],
    ['a caption of audio', { audio: { link: LINK } }, ['message']],
    ['a text beside a place', { location: { latitude: 1, longitude: 2 } }, ['message']],
  ])('is refused with %s, and the place named', (_name, more, paths) => {
    const composed = of(more)
    expect(composed.kind === 'refused' && composed.errors.map(({ path }) => path.join('/'))).toEqual(paths)
  })

  test('is seen by people with what there is to choose', () => {
    const composed = of({ buttons: [{ title: 'Small' }, { title: 'Large' }] })
    expect(composed.kind === 'composed' && objects.preview(composed.object)).toEqual({
      type: 'interactive',
      text: 'Which?\n• Small\n• Large',
    })
  })
})
