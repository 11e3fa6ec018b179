import { defined } from '../../defined.ts'
import { MEDIA_TYPES, type Nature, type ReceivedContent, type ReceivedMedia } from '../inbound.ts'
import { own, textAt } from '../own.ts'
import { typeOf } from './message-types.ts'
import { isOfField, natureOf, withheldOf } from './natures.ts'
import { timeOf } from './time.ts'

/** Contents that are in the message itself. */
const CONTENTS = ['location', 'contacts', 'interactive', 'button', 'reaction', 'order'] as const
type ContentType = (typeof CONTENTS)[number]

/** An id of Meta's of media. */
export const MEDIA_ID = /^[\w-]{1,128}$/
const MAX_LISTED = 20

/** A message's content as Meta sent it. */
export function contentOf(raw: unknown): ReceivedContent {
  const type = typeOf(raw)
  const nature = natureOf(raw)
  const isSaid = nature.kind === 'speech' || nature.kind === 'reaction'
  const media = isSaid ? mediaOf(raw) : undefined
  const isPast = isOfField(raw, 'history')
  const isOwn = isOfField(raw, 'smb_message_echoes') || (isPast && textAt(raw, 'to') !== undefined)
  const writtenAt = timeOf(own(raw, 'timestamp'))
  return {
    ...(type !== undefined && type !== 'text' && { type }),
    ...defined({ pressed: nature.kind === 'speech' ? pressedIn(raw) : undefined }),
    ...defined({ media, providerId: textAt(raw, 'id'), repliesTo: isSaid ? repliesTo(raw) : undefined }),
    ...(textAt(raw, 'group_id') !== undefined && { isOfGroup: true }),
    ...(isOwn && { isOwn }),
    ...(isPast && { isPast }),
    ...(writtenAt !== undefined && { writtenAt: new Date(writtenAt) }),
    nature,
    text: textOf(raw, { nature, media, who: isOwn ? 'business' : 'person' }),
  }
}

function pressedIn(raw: unknown): string | undefined {
  return textAt(raw, 'button', 'payload') ?? textAt(raw, 'interactive', 'button_reply', 'id')
}

function repliesTo(raw: unknown): string | undefined {
  return textAt(raw, 'context', 'id') ?? textAt(raw, 'reaction', 'message_id')
}

function textOf(
  raw: unknown,
  { nature, media, who }: { nature: Nature; media: ReceivedMedia | undefined; who: string },
): string {
  if (nature.kind === 'notice') return textOfNotice(raw, { shown: nature.shown, who })
  return [media === undefined ? '' : textOfMedia(media, who), ...contextText(raw)]
    .filter((text) => text !== '')
    .join('\n')
}

/** A text of Meta's may have the person's own words in it, so a model reads what it is about. */
function textOfNotice(raw: unknown, { shown, who }: { shown: string; who: string }): string {
  const withheld = withheldOf(raw)
  if (withheld !== undefined) return `[The ${who} sent something that can't be shown: ${withheld}.]`
  if (typeOf(raw) !== 'system') return `[Notice: ${shown}.]`
  const type = textAt(raw, 'system', 'type') ?? 'unknown'
  return `[Notice: something about the person has changed (${type}).]`
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

function textOfMedia(media: ReceivedMedia, who: string): string {
  if (media.kind === 'content') return textOfContent(media, who)
  switch (media.type) {
    case 'video':
      return `[The ${who} sent a video, which you can not see.]`
    case 'document':
      return `[The ${who} sent a document, which you can not read: ${media.fileName ?? 'without a name'}.]`
    default:
      // Audio is transcribed, and images are seen, where there is a model for that.
      return ''
  }
}

function textOfContent({ type, content }: { type: string; content: unknown }, who: string): string {
  switch (type as ContentType) {
    case 'location':
      return `[The ${who} sent a location: ${locationOf(content)}]`
    case 'contacts':
      return `[The ${who} sent contacts: ${listOf(content).map(contactOf).join('; ')}]`
    case 'interactive':
      return interactiveOf(content)
    case 'button':
      return `[The person pressed a button: ${textAt(content, 'payload') ?? ''}]`
    case 'reaction': {
      const emoji = textAt(content, 'emoji')
      return emoji === undefined
        ? `[The ${who} took a reaction back.]`
        : `[The ${who} reacted with ${emoji}.]`
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

/** Of each text that others chose, in characters. */
const MAX_TEXT = 500

/** Texts for a model of what stands beside a message: the product, the ad that it came by, whether it was forwarded. */
function contextText(raw: unknown): string[] {
  return [productOf(raw), adOf(raw), forwardedOf(raw)].filter((text) => text !== undefined)
}

function productOf(raw: unknown): string | undefined {
  const product = own(raw, 'context', 'referred_product')
  const id = textAt(product, 'product_retailer_id')
  if (id === undefined) return undefined
  const catalogue = textAt(product, 'catalog_id')
  return `[It is about the product ${quoted(id)}${catalogue === undefined ? '' : ` of the catalogue ${quoted(catalogue)}`}.]`
}

const AD_TEXTS = ['headline', 'body', 'source_url'] as const

/** The text of an ad, which is no instruction, whoever wrote it. */
function adOf(raw: unknown): string | undefined {
  const ad = own(raw, 'referral')
  if (ad === undefined) return undefined
  const texts = AD_TEXTS.flatMap((key) => textAt(ad, key) ?? []).map(quoted)
  return texts.length === 0
    ? '[The person came by an ad.]'
    : `[The person came by this ad: ${texts.join(', ')}.]`
}

function forwardedOf(raw: unknown): string | undefined {
  if (own(raw, 'context', 'frequently_forwarded') === true) return '[It was forwarded many times.]'
  return own(raw, 'context', 'forwarded') === true ? '[It was forwarded.]' : undefined
}

const quoted = (text: string): string =>
  JSON.stringify(text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1).toWellFormed()}…`)
