import { defined } from '../../defined.ts'
import { MEDIA_TYPES } from '../inbound.ts'
import type { ObjectPreview, ObjectRules } from '../outbound.ts'
import { isJsonObject, own, textAt } from '../own.ts'
import { MEDIA_ID } from './content.ts'
import { SAID_LIMITS, saidOf } from './interactive.ts'
import { templateOf } from './template.ts'

/** Types of the Cloud API; each has an object (contacts a list) under its own name. */
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

const REACTION = 'reaction'
const WITHOUT_CAPTION = ['audio', 'sticker']

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
  compose: (args) => (args.template === undefined ? saidOf(args) : templateOf(args)),
  limits: SAID_LIMITS,
  ofMedia({ type, from, caption, fileName }) {
    const hasCaption = caption !== undefined && !WITHOUT_CAPTION.includes(type)
    const hasName = fileName !== undefined && type === 'document'
    return {
      type,
      [type]: { ...from, ...(hasCaption && { caption }), ...(hasName && { filename: fileName }) },
    }
  },
  mediaIn(object) {
    const type = MEDIA_TYPES.find((one) => one === object.type)
    const id = type && textAt(object, type, 'id')
    if (type === undefined || id === undefined || !MEDIA_ID.test(id)) return undefined
    return { type, id, ...defined({ fileName: textAt(object, type, 'filename') }) }
  },
  ofText: (body) => ({ type: 'text', text: { body } }),
  ofReaction: (emoji) => ({ type: REACTION, reaction: { emoji } }),
  reactionIn: (object) => (object.type === REACTION ? (textAt(object, REACTION, 'emoji') ?? '') : undefined),
  quoting(object, providerId) {
    const about = { message_id: providerId }
    if (object.type !== REACTION || !isJsonObject(object.reaction)) return { ...object, context: about }
    return { ...object, reaction: { ...object.reaction, ...about } }
  },
  quotedIn: (object) => textAt(object, 'context', 'message_id') ?? textAt(object, REACTION, 'message_id'),
  preview(object) {
    const type = textAt(object, 'type') ?? 'message'
    const name = textAt(object, 'template', 'name')
    if (name !== undefined) return templatePreview(object, name)
    const text =
      textAt(object, type, 'caption') ??
      textAt(object, type, 'body', 'text') ??
      textAt(object, type, 'body') ??
      textAt(object, REACTION, 'emoji')
    const shown = [textAt(object, type, 'filename'), text, ...choicesIn(object)]
      .filter((line) => line !== undefined)
      .join('\n')
    return {
      type,
      ...defined({ link: textAt(object, type, 'link'), text: shown === '' ? undefined : shown }),
    }
  },
}

/** The name of a template, and the texts that it was given. */
function templatePreview(object: unknown, name: string): ObjectPreview {
  const parameters = listAt(object, 'template', 'components').flatMap((one) => listAt(one, 'parameters'))
  const text = parameters.flatMap((one) => textAt(one, 'text') ?? []).join(' | ')
  const language = textAt(object, 'template', 'language', 'code') ?? ''
  return { type: `Template ${name} (${language})`, ...(text !== '' && { text }) }
}

/** The choices, a line for each. */
function choicesIn(object: unknown): string[] {
  const action = own(object, 'interactive', 'action')
  const buttons = listAt(action, 'buttons').map((one) => textAt(one, 'reply', 'title'))
  const rows = listAt(action, 'sections').flatMap((section) => listAt(section, 'rows'))
  const all = [...buttons, ...rows.map((row) => textAt(row, 'title')), linkIn(action)]
  return all.flatMap((title) => (title === undefined ? [] : `• ${title}`))
}

function linkIn(action: unknown): string | undefined {
  const title = textAt(action, 'parameters', 'display_text')
  return title && `${title}: ${textAt(action, 'parameters', 'url') ?? ''}`
}

function listAt(value: unknown, ...keys: string[]): unknown[] {
  const found = own(value, ...keys)
  return Array.isArray(found) ? found : []
}
