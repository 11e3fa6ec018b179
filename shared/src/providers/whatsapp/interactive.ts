import { defined } from '../../defined.ts'
import type { JsonObject } from '../../json-object.ts'
import type { Composed, Wrong } from '../outbound.ts'
import { isJsonObject, own } from '../own.ts'
import { type Check, link, list, number, shape, text } from './checks.ts'

const MEDIA = ['image', 'video', 'document', 'audio', 'sticker'] as const
type Media = (typeof MEDIA)[number]

const CAPTIONED: readonly Media[] = ['image', 'video', 'document']
const MAX_SECTIONS = 10

/** Bounds of what WhatsApp shows of choices and of media, in characters. */
export const LIMITS = {
  header: 60,
  footer: 60,
  buttonTitle: 20,
  rowTitle: 24,
  rowDescription: 72,
  sectionTitle: 24,
  bodyWithButtons: 1_024,
  bodyWithList: 4_096,
  caption: 1_024,
}
/** Of how many one may be chosen. */
export const CHOICES = { buttons: 3, rows: 10 }

/** The bounds, told to a model, of what it may say beside a text. */
export const SAID_LIMITS =
  `At most ${CHOICES.buttons} buttons with titles of ${LIMITS.buttonTitle} characters and a message of ${LIMITS.bodyWithButtons}; ` +
  `or a list of at most ${CHOICES.rows} rows with titles of ${LIMITS.rowTitle} and descriptions of ${LIMITS.rowDescription}.`

const choice = {
  'id?': text(256),
  title: text(LIMITS.buttonTitle),
}
const linkButton = shape({ url: link, title: text(LIMITS.buttonTitle) })
const row = shape({
  'id?': text(200),
  title: text(LIMITS.rowTitle),
  'description?': text(LIMITS.rowDescription),
})
const rows = list(row, CHOICES.rows, 1)
const listed = shape({
  button: text(LIMITS.buttonTitle),
  'rows?': rows,
  'sections?': list(shape({ 'title?': text(LIMITS.sectionTitle), rows }), MAX_SECTIONS, 1),
})
const media = (type: Media): Check => shape({ link, ...(type === 'document' && { 'filename?': text(256) }) })
const place = shape({ latitude: number, longitude: number, 'name?': text(1_024), 'address?': text(1_024) })

/** The message that says something in our form; or what of it WhatsApp does not take. */
export function saidOf(given: JsonObject): Composed {
  for (const { fits, check, object } of FORMS) {
    if (!fits(given)) continue
    const errors = shape(check(given))(given, [])
    const more = errors.length === 0 ? repeatedIn(given) : errors
    return more.length > 0 ? { kind: 'refused', errors: more } : { kind: 'composed', object: object(given) }
  }
  return { kind: 'refused', errors: [{ path: ['message'], message: 'is missing' }] }
}

interface Form {
  /** True when it is what the arguments say. */
  fits(given: JsonObject): boolean
  /** The checks of its arguments. */
  check(given: JsonObject): Readonly<Record<string, Check>>
  object(given: JsonObject): JsonObject
}

const mediaIn = (given: JsonObject): Media | undefined => MEDIA.find((type) => given[type] !== undefined)
const isLinks = ({ buttons }: JsonObject): boolean =>
  Array.isArray(buttons) && buttons.some((button) => own(button, 'url') !== undefined)

/** The first that fits is what is meant. */
const FORMS: readonly Form[] = [
  {
    fits: ({ list: found }) => found !== undefined,
    check: () => ({
      message: text(LIMITS.bodyWithList),
      'header?': text(LIMITS.header),
      'footer?': text(LIMITS.footer),
      list: listed,
    }),
    object: (given) => interactive('list', given, listAction(given.list)),
  },
  {
    fits: ({ buttons }) => buttons !== undefined,
    check: (given) => ({
      message: text(LIMITS.bodyWithButtons),
      'header?': text(LIMITS.header),
      'footer?': text(LIMITS.footer),
      ...Object.fromEntries(CAPTIONED.map((type) => [`${type}?`, media(type)])),
      buttons: isLinks(given) ? list(linkButton, 1, 1) : list(shape(choice), CHOICES.buttons, 1),
    }),
    object(given) {
      const buttons = given.buttons as JsonObject[]
      if (!isLinks(given)) return interactive('button', given, { buttons: buttons.map(replyButton) })
      const { url, title } = buttons[0] ?? {}
      return interactive('cta_url', given, { name: 'cta_url', parameters: { display_text: title, url } })
    },
  },
  {
    fits: (given) => mediaIn(given) !== undefined,
    check(given) {
      const type = mediaIn(given) ?? 'image'
      return { [type]: media(type), ...(CAPTIONED.includes(type) && { 'message?': text(LIMITS.caption) }) }
    },
    object(given) {
      const type = mediaIn(given) ?? 'image'
      return { type, [type]: { ...(given[type] as JsonObject), ...defined({ caption: given.message }) } }
    },
  },
  {
    fits: ({ location }) => location !== undefined,
    check: () => ({ location: place }),
    object: ({ location }) => ({ type: 'location', location }),
  },
]

function interactive(type: string, given: JsonObject, action: JsonObject): JsonObject {
  const { message, header, footer } = given
  const file = mediaIn(given)
  const shown =
    header === undefined ? file && { type: file, [file]: given[file] } : { type: 'text', text: header }
  return {
    type: 'interactive',
    interactive: {
      type,
      ...defined({ header: shown }),
      body: { text: message },
      ...(footer !== undefined && { footer: { text: footer } }),
      action,
    },
  }
}

const replyButton = ({ id, title }: JsonObject): JsonObject => ({
  type: 'reply',
  reply: { id: id ?? title, title },
})

function listAction(given: unknown): JsonObject {
  const { button, rows: all, sections } = given as JsonObject
  const inSections = (sections ?? [{ rows: all }]) as JsonObject[]
  return {
    button,
    sections: inSections.map(({ title, rows: found }) => ({
      ...defined({ title }),
      rows: (found as JsonObject[]).map((one) => ({ ...one, id: one.id ?? one.title })),
    })),
  }
}

/** Lists choices that can't be told from each other, and lists that are none or too long. */
function repeatedIn({ buttons, list: given, header, ...rest }: JsonObject): Wrong[] {
  const files = MEDIA.filter((type) => rest[type] !== undefined)
  const headers = [...(header === undefined ? [] : ['header']), ...files]
  if (buttons !== undefined && headers.length > 1)
    return [{ path: headers.slice(1, 2), message: `is there beside ${headers[0]}, above the message` }]
  if (Array.isArray(buttons)) return repeated(buttons, ['buttons'])
  if (!isJsonObject(given)) return []
  const { rows: alone, sections } = given
  if ((alone === undefined) === (sections === undefined))
    return [{ path: ['list', 'rows'], message: 'either rows or sections are to be there' }]
  if (alone !== undefined) return repeated(alone as JsonObject[], ['list', 'rows'])
  const all = sections as JsonObject[]
  const inAll = all.flatMap((section) => section.rows as JsonObject[])
  const path = ['list', 'sections']
  if (inAll.length > CHOICES.rows) return [{ path, message: `have more than ${CHOICES.rows} rows together` }]
  const untitled = all.length > 1 ? all.findIndex(({ title }) => title === undefined) : -1
  if (untitled >= 0) return [{ path: [...path, String(untitled), 'title'], message: 'is missing' }]
  return repeated(inAll, path)
}

function repeated(choices: readonly JsonObject[], path: string[]): Wrong[] {
  const ids = choices.map(({ id, title }) => String(id ?? title))
  const at = ids.findIndex((id, position) => ids.indexOf(id) < position)
  return at < 0 ? [] : [{ path, message: `have the id ${JSON.stringify(ids[at])} twice` }]
}
