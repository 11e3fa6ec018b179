import { defined } from '../../defined.ts'
import type { ObjectRules } from '../outbound.ts'
import { isJsonObject, textAt } from '../own.ts'

/** What the Cloud API sends; each has an object (contacts a list) under its own name. */
const TYPES = [
  'text',
  'image',
  'document',
  'video',
  'audio',
  'sticker',
  'location',
  'contacts',
  'interactive',
  'template',
  'reaction',
]

/** Message objects of the Cloud API, as a reply may carry them. */
export const objects: ObjectRules = {
  types: TYPES,
  templates: ['template'],
  description:
    "A message object of WhatsApp's Cloud API, without recipient: images, documents, buttons, lists, …",
  errorsOf(object) {
    const type = String(object.type)
    const errors = Object.keys(object)
      .filter((key) => !['type', 'context', type].includes(key))
      .map((key) => ({ path: [key], message: 'does not belong to a message object of that type' }))
    const isList = type === 'contacts'
    const content = object[type]
    if (isList ? !Array.isArray(content) : !isJsonObject(content))
      errors.push({ path: [type], message: isList ? 'expected a list' : 'expected an object' })
    return errors
  },
  ofMedia({ type, link, caption }) {
    const hasCaption = caption !== undefined && type !== 'audio'
    return { type, [type]: { link, ...(hasCaption && { caption }) } }
  },
  preview(object) {
    const type = textAt(object, 'type') ?? 'message'
    const text =
      textAt(object, type, 'caption') ?? textAt(object, type, 'body', 'text') ?? textAt(object, type, 'body')
    return { type, ...defined({ link: textAt(object, type, 'link'), text }) }
  },
}
