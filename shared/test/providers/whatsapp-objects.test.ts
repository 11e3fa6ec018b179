import { expect, test } from '@jest/globals'
import { objects } from '@parley/shared/providers/whatsapp/objects'

const LINK = 'https://example.com/file'

test.each([
  [
    { type: 'image', from: { link: LINK }, caption: 'The fern' },
    { image: { link: LINK, caption: 'The fern' } },
  ],
  [{ type: 'document', from: { link: LINK } }, { document: { link: LINK } }],
  // The Cloud API refuses a caption of audio.
  [{ type: 'audio', from: { link: LINK }, caption: 'The fern' }, { audio: { link: LINK } }],
  [
    { type: 'document', from: { id: '1037' }, fileName: 'a.pdf', caption: 'Here' },
    { document: { id: '1037', caption: 'Here', filename: 'a.pdf' } },
  ],
  [{ type: 'image', from: { id: '1037' }, fileName: 'a.png' }, { image: { id: '1037' } }],
] as const)('media %j are an object that the Cloud API takes', (media, content) => {
  const object = objects.ofMedia(media)
  expect(object).toEqual({ type: media.type, ...content })
  expect(objects.errorsOf(object)).toEqual([])
})

test.each([
  [
    { type: 'image', image: { link: LINK, caption: 'The fern' } },
    { type: 'image', link: LINK, text: 'The fern' },
  ],
  [
    { type: 'text', text: { body: 'Hello' } },
    { type: 'text', text: 'Hello' },
  ],
  [
    { type: 'interactive', interactive: { body: { text: 'Which?' } } },
    { type: 'interactive', text: 'Which?' },
  ],
  [{ type: 'contacts', contacts: [{}] }, { type: 'contacts' }],
  [
    { type: 'reaction', reaction: { emoji: '👍' } },
    { type: 'reaction', text: '👍' },
  ],
  [{ type: 'reaction', reaction: { emoji: '' } }, { type: 'reaction' }],
  [{ type: 'image' }, { type: 'image' }],
  [{}, { type: 'message' }],
])('of the object %j people see %j', (object, preview) => {
  expect(objects.preview(object)).toEqual(preview)
})

test.each([
  [
    { type: 'image', image: { id: '1037' } },
    { type: 'image', id: '1037' },
  ],
  [
    { type: 'document', document: { id: '1037', filename: 'a.pdf' } },
    { type: 'document', id: '1037', fileName: 'a.pdf' },
  ],
  [{ type: 'image', image: { link: LINK } }, undefined],
  [{ type: 'image', image: { id: '../10' } }, undefined],
  [{ type: 'text', text: { body: 'x' } }, undefined],
])('of the object %j the provider has the media %j', (object, media) => {
  expect(objects.mediaIn(object)).toEqual(media)
})

test('an object that quotes names what it quotes, and is one that may be sent', () => {
  const object = objects.quoting(objects.ofText('Yes'), 'wamid.1')
  expect(objects.quotedIn(object)).toBe('wamid.1')
  expect(objects.errorsOf(object)).toEqual([])
  expect(objects.quotedIn(objects.ofText('Yes'))).toBeUndefined()
})

test.each(['👍', ''])('a reaction with “%s” names what it is to, and is one that may be sent', (emoji) => {
  const object = objects.quoting(objects.ofReaction?.(emoji) ?? {}, 'wamid.1')
  expect(object).toEqual({ type: 'reaction', reaction: { message_id: 'wamid.1', emoji } })
  expect([objects.quotedIn(object), objects.reactionIn?.(object)]).toEqual(['wamid.1', emoji])
  expect(objects.errorsOf(object)).toEqual([])
  expect(objects.reactionIn?.(objects.ofText('👍'))).toBeUndefined()
})
