import type { JsonObject } from '../../json-object.ts'
import type { Wrong } from '../outbound.ts'
import { textAt } from '../own.ts'
import type { TemplateDraft } from '../templates.ts'
import { componentOf, objectsAt, placeholdersIn, typeIn } from './template-definition.ts'

const CATEGORIES = ['MARKETING', 'UTILITY', 'AUTHENTICATION']
const NAME = /^[a-z0-9_]{1,512}$/
const LANGUAGE = /^[a-z]{2,3}(_[A-Z]{2})?$/
const TYPES = [
  'header',
  'body',
  'footer',
  'buttons',
  'carousel',
  'limited_time_offer',
  'call_permission_request',
]
const FORMATS = ['text', 'image', 'video', 'gif', 'document', 'location', 'product']
const MAX_HEADER = 60
const MAX_BODY = 1_024
const MAX_FOOTER = 60
const MAX_BUTTONS = 10
const MAX_BUTTON_TEXT = 25
const MAX_URL = 2_000
const MAX_CARDS = 10

/** Errors of a template that Meta would refuse, by the path of each; what is not known here is Meta's to judge. */
export function errorsOfDraft(draft: TemplateDraft): Wrong[] {
  const { name, language, category, components } = draft
  const errors: Wrong[] = []
  const refuse = (path: string, message: string) => errors.push({ path: path.split('/'), message })
  if (!NAME.test(name)) refuse('name', 'expected 1 to 512 of a-z, 0-9 and _')
  if (!LANGUAGE.test(language)) refuse('language', 'expected a code such as en_US or pt_BR')
  if (!CATEGORIES.includes(category)) refuse('category', `is one of ${CATEGORIES.join(', ')}`)
  const types = components.map((one) => typeIn(one))
  types.forEach((type, at) => {
    if (!TYPES.includes(type)) refuse(`components/${at}/type`, `is one of ${TYPES.join(', ').toUpperCase()}`)
    else if (types.indexOf(type) < at) refuse(`components/${at}/type`, `is the ${type} for a second time`)
  })
  if (!types.includes('body')) refuse('components', 'a BODY is missing')
  errors.push(...partErrors(draft, components, ['components']))
  return errors
}

/** Of a template, or of a card of one. */
function partErrors(draft: TemplateDraft, components: readonly JsonObject[], path: string[]): Wrong[] {
  return components.flatMap((one, at) => {
    const here = [...path, String(at)]
    switch (typeIn(one)) {
      case 'header':
        return headerErrors(draft, one, here)
      case 'body':
        return bodyErrors(draft, one, here)
      case 'footer':
        return footerErrors(draft, one, here)
      case 'buttons':
        return buttonErrors(one, here)
      case 'carousel':
        return carouselErrors(draft, one, here)
      default:
        return []
    }
  })
}

function headerErrors(draft: TemplateDraft, header: JsonObject, path: string[]): Wrong[] {
  const format = typeIn(header, 'format')
  if (!FORMATS.includes(format))
    return [{ path: [...path, 'format'], message: `is one of ${FORMATS.join(', ').toUpperCase()}` }]
  if (format !== 'text') return []
  const text = textAt(header, 'text')
  const at = [...path, 'text']
  if (text === undefined) return [{ path: at, message: 'is missing' }]
  const placeholders = placeholdersIn(text)
  return [
    ...tooLong(text, MAX_HEADER, at),
    ...(placeholders.length > 1 ? [{ path: at, message: 'has more than one placeholder' }] : []),
    ...placeholderErrors(draft, text, at),
    ...exampleErrors({ draft, component: header, part: 'header', count: placeholders.length }, path),
  ]
}

function bodyErrors(draft: TemplateDraft, body: JsonObject, path: string[]): Wrong[] {
  // Meta writes the text of one that authenticates.
  if (draft.category === 'AUTHENTICATION') return []
  const text = textAt(body, 'text')
  const at = [...path, 'text']
  if (text === undefined) return [{ path: at, message: 'is missing' }]
  const trimmed = text.trim()
  const isAtEdge = /^\{\{\s*\w+\s*\}\}/.test(trimmed) || /\{\{\s*\w+\s*\}\}$/.test(trimmed)
  return [
    ...tooLong(text, MAX_BODY, at),
    ...(isAtEdge ? [{ path: at, message: 'begins or ends with a placeholder, which Meta refuses' }] : []),
    ...placeholderErrors(draft, text, at),
    ...exampleErrors({ draft, component: body, part: 'body', count: placeholdersIn(text).length }, path),
  ]
}

/** By position they count from 1 without a gap; by name they begin with a letter. */
function placeholderErrors({ parameterFormat }: TemplateDraft, text: string, path: string[]): Wrong[] {
  const found = placeholdersIn(text)
  if (parameterFormat?.toUpperCase() === 'NAMED') {
    const wrong = found.find((name) => !/^[a-z][a-z0-9_]*$/.test(name))
    return wrong === undefined ? [] : [{ path, message: `{{${wrong}}} is no name of a-z, 0-9 and _` }]
  }
  const isCounted = found.every((name, at) => name === String(at + 1))
  const message = 'expected {{1}}, {{2}}, … in order, or names with parameterFormat NAMED'
  return isCounted ? [] : [{ path, message }]
}

/** Meta refuses a template whose placeholders have no example. */
function exampleErrors(
  {
    draft: { parameterFormat },
    component,
    part,
    count,
  }: { draft: TemplateDraft; component: JsonObject; part: string; count: number },
  path: string[],
): Wrong[] {
  if (count === 0) return []
  const isNamed = parameterFormat?.toUpperCase() === 'NAMED'
  const key = `${part}_text${isNamed ? '_named_params' : ''}`
  const example = (component.example as JsonObject | undefined)?.[key]
  const list = Array.isArray(example) ? example : []
  const values = part === 'body' && !isNamed && Array.isArray(list[0]) ? list[0] : list
  const at = [...path, 'example', key]
  return values.length === count
    ? []
    : [{ path: at, message: `expected an example of each placeholder: ${count}` }]
}

function footerErrors({ category }: TemplateDraft, footer: JsonObject, path: string[]): Wrong[] {
  if (category === 'AUTHENTICATION') return []
  const text = textAt(footer, 'text')
  const at = [...path, 'text']
  if (text === undefined) return [{ path: at, message: 'is missing' }]
  if (placeholdersIn(text).length > 0) return [{ path: at, message: 'has a placeholder, which Meta refuses' }]
  return tooLong(text, MAX_FOOTER, at)
}

/** Fields that a button of each type needs. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  quick_reply: ['text'],
  url: ['text', 'url'],
  phone_number: ['text', 'phone_number'],
  copy_code: ['example'],
  flow: ['text'],
  otp: ['otp_type'],
}

function buttonErrors(component: JsonObject, path: string[]): Wrong[] {
  const buttons = objectsAt(component, 'buttons')
  const errors: Wrong[] = []
  if (buttons.length === 0) errors.push({ path: [...path, 'buttons'], message: 'expected at least one' })
  if (buttons.length > MAX_BUTTONS)
    errors.push({ path: [...path, 'buttons'], message: `has more than ${MAX_BUTTONS}` })
  buttons.forEach((button, at) => {
    const here = [...path, 'buttons', String(at)]
    const type = typeIn(button)
    const needs = Object.hasOwn(NEEDS, type) ? NEEDS[type] : []
    for (const key of needs ?? [])
      if (button[key] === undefined) errors.push({ path: [...here, key], message: 'is missing' })
    const url = textAt(button, 'url') ?? ''
    const isOpen = placeholdersIn(url).length > 0
    if (isOpen && !/\{\{\s*\w+\s*\}\}$/.test(url))
      errors.push({ path: [...here, 'url'], message: 'has its placeholder elsewhere than at the end' })
    if (isOpen && button.example === undefined)
      errors.push({ path: [...here, 'example'], message: 'expected an example of the placeholder' })
    errors.push(...tooLong(url, MAX_URL, [...here, 'url']))
    errors.push(...tooLong(textAt(button, 'text') ?? '', MAX_BUTTON_TEXT, [...here, 'text']))
  })
  return [...errors, ...sequenceErrors(buttons, path)]
}

/** Meta refuses quick replies that stand on both sides of another button. */
function sequenceErrors(buttons: readonly JsonObject[], path: string[]): Wrong[] {
  const isReply = buttons.map((button) => typeIn(button) === 'quick_reply')
  const changes = isReply.filter((one, at) => at > 0 && one !== isReply[at - 1]).length
  const message = 'has quick replies on both sides of other buttons'
  return changes > 1 ? [{ path: [...path, 'buttons'], message }] : []
}

function carouselErrors(draft: TemplateDraft, carousel: JsonObject, path: string[]): Wrong[] {
  const cards = objectsAt(carousel, 'cards')
  const at = [...path, 'cards']
  if (cards.length < 2 || cards.length > MAX_CARDS)
    return [{ path: at, message: `expected 2 to ${MAX_CARDS}` }]
  const shapes = new Set(cards.map((card) => shapeOf(objectsAt(card, 'components'))))
  return [
    ...(shapes.size > 1 ? [{ path: at, message: 'has cards with different parts' }] : []),
    ...cards.flatMap((card, index) => {
      const components = objectsAt(card, 'components')
      const here = [...at, String(index), 'components']
      const header = componentOf(components, 'header')
      return [
        ...(header === undefined ? [{ path: here, message: 'a HEADER is missing' }] : []),
        ...partErrors(draft, components, here),
      ]
    }),
  ]
}

/** The parts of a card, which are the same in all cards. */
const shapeOf = (components: readonly JsonObject[]): string =>
  components
    .map((one) =>
      [typeIn(one), typeIn(one, 'format'), ...objectsAt(one, 'buttons').map((b) => typeIn(b))].join(' '),
    )
    .join()

function tooLong(text: string, most: number, path: string[]): Wrong[] {
  return [...text].length > most ? [{ path, message: `has more than ${most} characters` }] : []
}
