import { metaMedia } from '../../channels/media/find-media.ts'

const MAX_CHARACTERS = 4_096

/** What a model reads of the media that came with a message, beside what the person wrote; empty where there are none. */
export function mediaText(meta: unknown): string {
  const media = metaMedia(meta)
  if (media === undefined) return ''
  if (media.kind === 'content') return cut(textOfContent(media.type, media.content))
  switch (media.type) {
    case 'video':
      return '[The person sent a video, which you can not see.]'
    case 'document':
      return cut(
        `[The person sent a document, which you can not read: ${media.fileName ?? 'without a name'}.]`,
      )
    default:
      // Audio is transcribed, and images are seen, where there is a model for that.
      return ''
  }
}

type ContentType = Extract<ReturnType<typeof metaMedia>, { kind: 'content' }>['type']

function textOfContent(type: ContentType, content: unknown): string {
  switch (type) {
    case 'location':
      return `[The person sent a location: ${locationOf(content)}]`
    case 'contacts':
      return `[The person sent contacts: ${listOf(content).map(contactOf).join('; ')}]`
    case 'interactive':
      return interactiveOf(content)
    case 'button':
      return `[The person pressed a button: ${textAt(content, 'payload')}]`
    case 'reaction': {
      const emoji = textAt(content, 'emoji')
      return emoji === '' ? '[The person took a reaction back.]' : `[The person reacted with ${emoji}.]`
    }
    case 'order':
      return `[The person sent an order: ${JSON.stringify(content)}]`
  }
}

function locationOf(location: unknown): string {
  const at = [numberAt(location, 'latitude'), numberAt(location, 'longitude')].join(', ')
  return [at, textAt(location, 'name'), textAt(location, 'address')].filter((text) => text !== '').join('; ')
}

function contactOf(contact: unknown): string {
  const name = textAt(own(contact, 'name'), 'formatted_name')
  const phones = listOf(own(contact, 'phones')).map((phone) => textAt(phone, 'phone'))
  const emails = listOf(own(contact, 'emails')).map((email) => textAt(email, 'email'))
  return [name, ...phones, ...emails].filter((text) => text !== '').join(', ')
}

function interactiveOf(content: unknown): string {
  const form = own(content, 'nfm_reply')
  if (form !== undefined) return `[The person filled in a form: ${textAt(form, 'response_json')}]`
  const reply = own(content, 'button_reply') ?? own(content, 'list_reply')
  return reply === undefined ? '' : `[The person chose: ${textAt(reply, 'id')}]`
}

const own = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, 20) : [])

function textAt(value: unknown, key: string): string {
  const text = own(value, key)
  return typeof text === 'string' ? text : ''
}

function numberAt(value: unknown, key: string): string {
  const number = own(value, key)
  return typeof number === 'number' ? String(number) : ''
}

const cut = (text: string): string =>
  text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}…]`
