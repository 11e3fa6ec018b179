import { defined } from '../../defined.ts'
import type { JsonObject } from '../../json-object.ts'
import { own, textAt } from '../own.ts'
import type { TemplateDefinition, TemplateField } from '../templates.ts'
import {
  buttonsIn,
  componentOf,
  headerFormat,
  isDynamic,
  objectsAt,
  placeholdersIn,
  typeIn,
} from './template-definition.ts'

type Definition = Pick<TemplateDefinition, 'components'>
type Filled = Readonly<Record<string, string>>

const MEDIA = ['image', 'video', 'gif', 'document']
const PLACE = [
  { name: 'latitude', type: 'number' },
  { name: 'longitude', type: 'number' },
  { name: 'name', type: 'text' },
  { name: 'address', type: 'text' },
] as const
const OFFER = 'offer'

/** Returns the fields that a sender of a template fills in, in the order in which a person sees them. */
export function fieldsOf({ components }: Definition): TemplateField[] {
  const offer = componentOf(components, 'limited_time_offer')
  const cards = cardsIn(components).flatMap((card, at) =>
    partFields(card, { prefix: `card.${at}.`, labelOf: (label) => `Card ${at + 1}: ${label}` }),
  )
  return [
    ...partFields(components, { prefix: '', labelOf: (label) => label }),
    ...(endsByItself(offer) ? [{ key: OFFER, label: 'The offer ends', type: 'time' as const }] : []),
    ...cards,
  ]
}

const endsByItself = (offer: JsonObject | undefined): boolean =>
  own(offer, 'limited_time_offer', 'has_expiration') === true

const cardsIn = (components: readonly unknown[]): JsonObject[][] =>
  objectsAt(componentOf(components, 'carousel'), 'cards').map((card) => objectsAt(card, 'components'))

interface Place {
  prefix: string
  labelOf(label: string): string
}

/** Of a template, or of a card of one. */
function partFields(components: readonly unknown[], { prefix, labelOf }: Place): TemplateField[] {
  const header = headerFields(components)
  const body = placeholdersIn(textAt(componentOf(components, 'body'), 'text')).map((name, at) => ({
    key: `body.${name}`,
    label: `{{${name}}}`,
    type: 'text' as const,
    ...defined({ example: exampleOf(componentOf(components, 'body'), 'body', { name, at }) }),
  }))
  const buttons = buttonsIn(components).flatMap((button, at) => {
    const label = buttonLabel(button, textAt(button, 'text') ?? String(at + 1))
    return label === undefined ? [] : [{ key: `button.${at}`, label, type: 'text' as const }]
  })
  return [...header, ...body, ...buttons].map((field) => ({
    ...field,
    key: `${prefix}${field.key}`,
    label: labelOf(field.label),
  }))
}

function headerFields(components: readonly unknown[]): TemplateField[] {
  const format = headerFormat(components)
  const header = componentOf(components, 'header')
  if (format === 'text')
    return placeholdersIn(textAt(header, 'text')).map((name, at) => ({
      key: `header.${name}`,
      label: `Header {{${name}}}`,
      type: 'text',
      ...defined({ example: exampleOf(header, 'header', { name, at }) }),
    }))
  if (format === 'location')
    return PLACE.map(({ name, type }) => ({ key: `header.${name}`, label: `Place: ${name}`, type }))
  if (format === undefined || !MEDIA.includes(format)) return []
  return [{ key: 'header.link', label: `Address of the ${format}`, type: 'url' }]
}

/** By position a list, in a list for the body; by name a list of pairs. */
function exampleOf(
  component: JsonObject | undefined,
  part: 'header' | 'body',
  { name, at }: { name: string; at: number },
): string | undefined {
  const named = objectsAt(component, 'example', `${part}_text_named_params`)
  const pair = named.find((one) => textAt(one, 'param_name') === name)
  if (pair !== undefined) return textAt(pair, 'example')
  const found = own(component, 'example', `${part}_text`)
  const list = Array.isArray(found) && Array.isArray(found[0]) ? found[0] : found
  const example: unknown = Array.isArray(list) ? list[at] : undefined
  return typeof example === 'string' && example !== '' ? example : undefined
}

function buttonLabel(button: JsonObject, said: string): string | undefined {
  switch (typeIn(button)) {
    case 'url':
      return isDynamic(button) ? `End of the address of “${said}”` : undefined
    case 'otp':
    case 'copy_code':
      return `Code of “${said}”`
    default:
      return undefined
  }
}

/** Returns a template message's arguments beside name and language; a part is left out where none of it is filled in. */
export function argumentsOf({ components }: Definition, filled: Filled): JsonObject {
  const ends = filled[OFFER]
  const cards = cardsIn(components).map((card, at) => partArguments(card, filled, `card.${at}.`))
  return {
    ...partArguments(components, filled, ''),
    ...(ends ? { limitedTimeOffer: ends } : {}),
    ...(cards.length > 0 && { carousel: cards }),
  }
}

function partArguments(components: readonly unknown[], filled: Filled, prefix: string): JsonObject {
  const valueFor = (key: string) => filled[`${prefix}${key}`] || undefined
  const names = placeholdersIn(textAt(componentOf(components, 'body'), 'text'))
  const buttons = buttonsIn(components).flatMap((button, index) => {
    const given = valueFor(`button.${index}`)
    const type = typeIn(button)
    // A form is named, though nothing is said of it.
    if (type === 'flow') return [{ type, index }]
    if (given === undefined || buttonLabel(button, '') === undefined) return []
    return [{ type, index, ...(type === 'url' ? { text: given } : { code: given }) }]
  })
  return {
    ...defined({ header: headerArgument(components, valueFor) }),
    ...(names.length > 0 && { variables: variablesOf(names, valueFor) }),
    ...(buttons.length > 0 && { buttons }),
  }
}

type ValueFor = (key: string) => string | undefined

/** One that is not filled in yet stays the placeholder that it is. */
function variablesOf(names: readonly string[], valueFor: ValueFor): string[] | Record<string, string> {
  const pairs = names.map((name) => [name, valueFor(`body.${name}`) ?? `{{${name}}}`] as const)
  const isNamed = names.some((name) => !/^\d+$/.test(name))
  // By position: the first placeholder is {{1}}, in whatever order they come.
  if (!isNamed)
    return pairs.toSorted(([one], [other]) => Number(one) - Number(other)).map(([, value]) => value)
  return Object.fromEntries(pairs)
}

function headerArgument(components: readonly unknown[], valueFor: ValueFor): unknown {
  const format = headerFormat(components)
  if (format === undefined) return undefined
  if (format === 'text') {
    const [name] = placeholdersIn(textAt(componentOf(components, 'header'), 'text'))
    const text = name === undefined ? undefined : valueFor(`header.${name}`)
    if (name === undefined || text === undefined) return undefined
    return /^\d+$/.test(name) ? text : { type: 'text', parameter_name: name, text }
  }
  if (format === 'location') {
    const given = PLACE.flatMap(({ name, type }) => {
      const value = valueFor(`header.${name}`)
      return value === undefined ? [] : [[name, type === 'number' ? Number(value) : value] as const]
    })
    return given.length < PLACE.length ? undefined : { location: Object.fromEntries(given) }
  }
  const link = valueFor('header.link')
  return link !== undefined && MEDIA.includes(format) ? { [format]: { link } } : undefined
}
