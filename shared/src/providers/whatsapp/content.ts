import { MEDIA_TYPES, type ReceivedContent, type ReceivedMedia } from '../inbound.ts'
import { own, textAt } from '../own.ts'

/** What is in the message itself. */
const CONTENTS = ['location', 'contacts', 'interactive', 'button', 'reaction', 'order'] as const
type ContentType = (typeof CONTENTS)[number]

const MEDIA_ID = /^[\w-]{1,128}$/
const MAX_LISTED = 20

/** What a message has as Meta sent it. */
export function contentOf(raw: unknown): ReceivedContent {
  const type = own(raw, 'type')
  const media = mediaOf(raw)
  const isOfGroup = textAt(raw, 'group_id') !== undefined
  return {
    ...(typeof type === 'string' && type !== 'text' && { type }),
    ...(media !== undefined && { media }),
    ...(isOfGroup && { isOfGroup }),
    text: media === undefined ? '' : textOfMedia(media),
  }
}

/** Files are fetched from Meta by their id; other content stands in the message itself. */
function mediaOf(raw: unknown): ReceivedMedia | undefined {
  for (const type of MEDIA_TYPES) {
    const id = textAt(raw, type, 'id')
    if (id === undefined || !MEDIA_ID.test(id)) continue
    const fileName = own(raw, type, 'filename')
    return { kind: 'media', type, mediaId: id, ...(typeof fileName === 'string' && { fileName }) }
  }
  const isThere = (type: ContentType) => typeof own(raw, type) === 'object' && own(raw, type) !== null
  const type = CONTENTS.find(isThere)
  return type === undefined ? undefined : { kind: 'content', type, content: own(raw, type) }
}

function textOfMedia(media: ReceivedMedia): string {
  if (media.kind === 'content') return textOf(media.type as ContentType, media.content)
  switch (media.type) {
    case 'video':
      return '[The person sent a video, which you can not see.]'
    case 'document':
      return `[The person sent a document, which you can not read: ${media.fileName ?? 'without a name'}.]`
    default:
      // Audio is transcribed, and images are seen, where there is a model for that.
      return ''
  }
}

function textOf(type: ContentType, content: unknown): string {
  switch (type) {
    case 'location':
      return `[The person sent a location: ${locationOf(content)}]`
    case 'contacts':
      return `[The person sent contacts: ${listOf(content).map(contactOf).join('; ')}]`
    case 'interactive':
      return interactiveOf(content)
    case 'button':
      return `[The person pressed a button: ${textAt(content, 'payload') ?? ''}]`
    case 'reaction': {
      const emoji = textAt(content, 'emoji')
      return emoji === undefined
        ? '[The person took a reaction back.]'
        : `[The person reacted with ${emoji}.]`
    }
    case 'order':
      return `[The person sent an order: ${JSON.stringify(content)}]`
  }
}

function locationOf(location: unknown): string {
  const at = ['latitude', 'longitude'].map((key) => numberAt(location, key)).join(', ')
  return joined('; ', [at, textAt(location, 'name'), textAt(location, 'address')])
}

function contactOf(contact: unknown): string {
  const name = textAt(contact, 'name', 'formatted_name')
  const phones = listOf(own(contact, 'phones')).map((phone) => textAt(phone, 'phone'))
  const emails = listOf(own(contact, 'emails')).map((email) => textAt(email, 'email'))
  return joined(', ', [name, ...phones, ...emails])
}

function interactiveOf(content: unknown): string {
  const form = own(content, 'nfm_reply')
  if (form !== undefined) return `[The person filled in a form: ${textAt(form, 'response_json') ?? ''}]`
  const reply = own(content, 'button_reply') ?? own(content, 'list_reply')
  return reply === undefined ? '' : `[The person chose: ${textAt(reply, 'id') ?? ''}]`
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, MAX_LISTED) : [])

const joined = (separator: string, texts: (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined && text !== '').join(separator)

function numberAt(value: unknown, key: string): string {
  const number = own(value, key)
  return typeof number === 'number' ? String(number) : ''
}
