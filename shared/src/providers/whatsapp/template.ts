import { defined } from '../../defined.ts'
import type { JsonObject } from '../../json-object.ts'
import type { Composed, Wrong } from '../outbound.ts'
import { isJsonObject } from '../own.ts'
import { anyObject, type Check, list, number, oneOf, shape, text, variant, wholeNumber } from './checks.ts'
import {
  bodyParameter,
  button,
  component,
  header,
  id,
  inCards,
  index,
  MAX_BUTTONS,
  MAX_CARDS,
  MAX_CODE,
  MAX_COMPONENTS,
  MAX_PARAMETERS,
  MAX_TEXT,
  type TEMPLATE_BUTTONS,
} from './template-components.ts'

const MAX_NAME = 512
/** How long Meta may try to deliver it, in seconds: from 30 seconds to 30 days. */
const TTL = wholeNumber(30, 30 * 24 * 60 * 60)

/**
 * The message that sends a template, of arguments in our form: `variables`, `header`, `body`, `buttons`, `carousel`,
 * `limitedTimeOffer` and `ttl`, or `components` as Meta has them; or what of them is not understood.
 */
export function templateOf(args: JsonObject): Composed {
  const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))
  const { template: name, language: code, ttl, message_send_ttl_seconds: seconds = ttl, ...rest } = given
  const read = readParts(rest, { components: component, parts: PARTS })
  const errors = [
    ...text(MAX_NAME)(name, ['template']),
    ...text(MAX_NAME)(code, ['language']),
    ...(seconds === undefined ? [] : TTL(seconds, [ttl === undefined ? 'message_send_ttl_seconds' : 'ttl'])),
    ...(ttl !== undefined && seconds !== ttl
      ? [{ path: ['ttl'], message: 'is there beside message_send_ttl_seconds' }]
      : []),
    ...read.errors,
  ]
  if (errors.length > 0) return { kind: 'refused', errors }
  const template = { name, language: { code }, components: read.components }
  return {
    kind: 'composed',
    object: { type: 'template', template, ...defined({ message_send_ttl_seconds: seconds }) },
  }
}

/** Components, or what is wrong with what they were to be made of. */
interface Parts {
  components: JsonObject[]
  errors: Wrong[]
}

/** Reads a part of our form, which stands under a key. */
type ReadPart = (value: unknown, path: string[]) => Parts

/** Reads all parts; each component is there once, whichever form it was given in. */
function readParts(
  given: JsonObject,
  { components: check, parts }: { components: Check; parts: Readonly<Record<string, ReadPart>> },
  path: string[] = [],
): Parts {
  const known = [...Object.keys(parts), 'components']
  const unknown = Object.keys(given).filter((key) => !known.includes(key))
  const message = `is not known here: there are ${known.join(', ')}`
  const found: (Parts & { path: string[] })[] = [
    { components: [], errors: unknown.map((key) => ({ path: [...path, key], message })), path },
  ]
  for (const [key, read] of Object.entries(parts))
    if (given[key] !== undefined) found.push({ ...read(given[key], [...path, key]), path: [...path, key] })
  if (given.components !== undefined) {
    const errors = list(check, MAX_COMPONENTS)(given.components, [...path, 'components'])
    const components = (errors.length > 0 ? [] : given.components) as JsonObject[]
    found.push({ components: [], errors, path })
    components.forEach((one, at) => {
      found.push({ components: [one], errors: [], path: [...path, 'components', String(at)] })
    })
  }
  const all = new Set<string>()
  const repeated = found.flatMap(({ components, path: at }) =>
    components.flatMap((one) => {
      const name = nameOf(one)
      const isRepeated = all.has(name)
      all.add(name)
      return isRepeated ? [{ path: at, message: `is the ${name} for a second time` }] : []
    }),
  )
  return {
    components: found.flatMap(({ components }) => components),
    errors: [...found.flatMap(({ errors }) => errors), ...repeated],
  }
}

function nameOf({ type, index: position }: JsonObject): string {
  const name = String(type).toLowerCase()
  return name === 'button' ? `button ${Number(position)}` : name
}

const readHeader: ReadPart = (value, path) => {
  const made = isJsonObject(value) ? headerOf(value) : { type: 'text', text: value }
  return { components: [{ type: 'header', parameters: [made] }], errors: header(made, path) }
}

/** The parameter as Meta has it; its type may be left out, and what is under its name may stand beside its type, or be a link alone. */
function headerOf({ type, parameter_name, ...rest }: JsonObject): JsonObject {
  const kind = String(type ?? Object.keys(rest)[0] ?? '').toLowerCase()
  const named = { type: kind, ...defined({ parameter_name }) }
  if (!Object.hasOwn(rest, kind)) return { ...named, [kind]: rest }
  const content = rest[kind]
  const isLink = typeof content === 'string' && kind !== 'text'
  return { ...named, ...rest, ...(isLink && { [kind]: { link: content } }) }
}

/** By position a list, by name an object; each a text, or a parameter as Meta has it. */
const readBody: ReadPart = (value, path) => {
  if (!Array.isArray(value) && !isJsonObject(value))
    return { components: [], errors: [{ path, message: 'expected a list, or an object with the names' }] }
  const made: JsonObject[] = []
  const errors: Wrong[] = []
  for (const [key, one] of Object.entries(value)) {
    const name = Array.isArray(value) ? {} : { parameter_name: key }
    const isText = !isJsonObject(one)
    const read = isText ? { type: 'text', ...name, text: one } : { ...name, ...one }
    made.push(read)
    errors.push(...(isText ? text(MAX_TEXT, 0)(one, [...path, key]) : bodyParameter(read, [...path, key])))
  }
  if (made.length > MAX_PARAMETERS) errors.push({ path, message: `has more than ${MAX_PARAMETERS}` })
  return { components: made.length === 0 ? [] : [{ type: 'body', parameters: made }], errors }
}

/** A button in our form: its type at Meta, the fields that it has, and its parameter. */
interface ShortButton {
  subType: keyof typeof TEMPLATE_BUTTONS
  fields: Readonly<Record<string, Check>>
  parameter(fields: JsonObject): JsonObject | undefined
}

const code = ({ code: found, coupon_code, text: said }: JsonObject) => found ?? coupon_code ?? said
const action = (subType: ShortButton['subType'], fields: ShortButton['fields']): ShortButton => ({
  subType,
  fields,
  // Meta takes a button of its template without a parameter where there is nothing to say of it.
  parameter: (found) => (Object.keys(found).length === 0 ? undefined : { type: 'action', action: found }),
})

const SHORT_BUTTONS: Readonly<Record<string, ShortButton>> = {
  url: {
    subType: 'url',
    fields: { text: text(2_000) },
    parameter: ({ text: said }) => ({ type: 'text', text: said }),
  },
  quick_reply: {
    subType: 'quick_reply',
    fields: { payload: text(MAX_CODE) },
    parameter: ({ payload }) => ({ type: 'payload', payload }),
  },
  copy_code: {
    subType: 'copy_code',
    fields: { 'code?': text(MAX_CODE), 'coupon_code?': text(MAX_CODE) },
    parameter: (found) => ({ type: 'coupon_code', coupon_code: code(found) }),
  },
  // To Meta the button of a one-time password is that of a URL.
  otp: {
    subType: 'url',
    fields: { 'code?': text(MAX_CODE), 'text?': text(MAX_CODE) },
    parameter: (found) => ({ type: 'text', text: code(found) }),
  },
  flow: action('flow', { 'flow_token?': text(2_000), 'flow_action_data?': anyObject }),
  catalog: action('catalog', { 'thumbnail_product_retailer_id?': id }),
  mpm: action('mpm', {
    'thumbnail_product_retailer_id?': id,
    sections: list(
      shape({ title: text(24), product_items: list(shape({ product_retailer_id: id }), 30, 1) }),
      10,
      1,
    ),
  }),
}

const readButtons: ReadPart = (value, path) => {
  const components: JsonObject[] = []
  const errors = list((one, at) => {
    const read = readButton(one, at)
    components.push(...read.components)
    return read.errors
  }, MAX_BUTTONS)(value, path)
  return { components: errors.length > 0 ? [] : components, errors }
}

/** As Meta has it where it has parameters, else in our form. Its position is that in the list where it has none. */
function readButton(value: unknown, path: string[]): Parts {
  const { type, sub_type: subType = type, index: position, ...fields } = isJsonObject(value) ? value : {}
  const at = position ?? Number(path.at(-1))
  if ('parameters' in fields) {
    const made = { type: 'button', sub_type: subType, index: at, ...fields }
    return { components: [made], errors: button(made, path) }
  }
  const name = String(subType).toLowerCase()
  const short = Object.hasOwn(SHORT_BUTTONS, name) ? SHORT_BUTTONS[name] : undefined
  if (short === undefined)
    return { components: [], errors: oneOf(Object.keys(SHORT_BUTTONS))(subType, [...path, 'type']) }
  const errors = [...shape(short.fields)(fields, path), ...index(at, [...path, 'index'])]
  const made = short.parameter(fields)
  const isEmpty = ['text', 'coupon_code'].some((key) => made && key in made && made[key] === undefined)
  if (errors.length === 0 && isEmpty) errors.push({ path: [...path, 'code'], message: 'is missing' })
  const component = { type: 'button', sub_type: short.subType, index: String(at) }
  return { components: [{ ...component, ...(made && { parameters: [made] }) }], errors }
}

const readCarousel: ReadPart = (value, path) => {
  const isObject = isJsonObject(value)
  const cards: JsonObject[] = []
  const check = list(
    (card, at) => {
      if (!isJsonObject(card)) return [{ path: at, message: 'expected an object' }]
      const { card_index: position = Number(at.at(-1)), ...parts } = card
      const read = readParts(parts, { components: variant('type', inCards), parts: CARD_PARTS }, at)
      cards.push({ card_index: position, components: read.components })
      return [...wholeNumber(0, MAX_CARDS - 1)(position, [...at, 'card_index']), ...read.errors]
    },
    MAX_CARDS,
    1,
  )
  const errors = isObject ? shape({ cards: check })(value, path) : check(value, path)
  return { components: [{ type: 'carousel', cards }], errors }
}

/** When an offer ends: as a time, in milliseconds since 1970, or as Meta has it. */
const readOffer: ReadPart = (value, path) => {
  const given = isJsonObject(value) ? value.expiration_time_ms : value
  const ms = typeof given === 'string' ? Date.parse(given) : given
  const offer = isJsonObject(value) ? value : { expiration_time_ms: ms }
  const errors = shape({ expiration_time_ms: number })(offer, path)
  const parameters = [{ type: 'limited_time_offer', limited_time_offer: offer }]
  return { components: [{ type: 'limited_time_offer', parameters }], errors }
}

const CARD_PARTS: Readonly<Record<string, ReadPart>> = {
  header: readHeader,
  variables: readBody,
  body: readBody,
  buttons: readButtons,
}
const PARTS: Readonly<Record<string, ReadPart>> = {
  ...CARD_PARTS,
  limitedTimeOffer: readOffer,
  limited_time_offer: readOffer,
  carousel: readCarousel,
}
