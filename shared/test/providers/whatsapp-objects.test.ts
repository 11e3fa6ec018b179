import { expect, test } from '@jest/globals'
import { objects } from '@parley/shared/providers/whatsapp/objects'

const LINK = 'https://example.com/file'

test.each([
  [{ type: 'image', link: LINK, caption: 'The fern' }, { image: { link: LINK, caption: 'The fern' } }],
  [{ type: 'document', link: LINK }, { document: { link: LINK } }],
  // The Cloud API refuses a caption of audio.
  [{ type: 'audio', link: LINK, caption: 'The fern' }, { audio: { link: LINK } }],
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
  [{ type: 'image' }, { type: 'image' }],
  [{}, { type: 'message' }],
])('of the object %j people see %j', (object, preview) => {
  expect(objects.preview(object)).toEqual(preview)
})
