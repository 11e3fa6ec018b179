import { hasExactNumber, isExactNumber } from '@parley/shared/exact-number'
import { ForeignDocumentError, sizeOf } from '@parley/shared/foreign-document'
import type { JsonObject } from '@parley/shared/json-object'
import { withDiscriminator } from './discriminator.ts'
import { approximate } from './exact-schema.ts'
import { readOnlyNames } from './read-only.ts'
import { isObject, memberOf, pointedAt, type SpecDocument } from './spec-document.ts'

/** The longest schema of one tool, in characters of JSON. */
export const MAX_SCHEMA_CHARACTERS = 32 * 1024
const MAX_SCHEMAS = 2_000
/** As many characters are made of a schema before it is given up. More than it may have: what is beside a reference replaces what that brings. */
const MAX_MADE = 2 * MAX_SCHEMA_CHARACTERS
const MAX_DESCRIPTION = 1_024
const MAX_TEXT = 200
/** From the most that is said of a schema to the least. */
const DEPTHS = [12, 6, 3, 1, 0]
const NUMBERS = [
  ...['multipleOf', 'maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'maxLength', 'minLength'],
  ...['maxItems', 'minItems', 'maxProperties', 'minProperties'],
]
/** Others are no JSON Schema, and refused by providers with all of the request. */
const TYPES: ReadonlySet<unknown> = new Set([
  ...['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'],
])
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const MAX_LISTED = 200
/** More names than these do not fit a schema, unless they repeat. */
const MAX_REQUIRED = 5_000

/**
 * A schema of a document as a language model is given it: it stands alone, without references, since not every
 * provider takes those. A schema that comes back to itself, and what is nested deeper than fits 32 KiB, takes
 * anything here; the whole schema still decides when the arguments are checked.
 */
export function modelSchema(document: SpecDocument, schema: unknown): JsonObject {
  for (const depth of DEPTHS) {
    const made = boundedSchema(document, schema, depth)
    if (made !== undefined && JSON.stringify(made).length <= MAX_SCHEMA_CHARACTERS) return made
  }
  return {}
}

class TooMuch extends Error {}

function boundedSchema(document: SpecDocument, schema: unknown, depth: number): JsonObject | undefined {
  let left = MAX_SCHEMAS
  let room = MAX_MADE
  // Each schema that is referred to is written out at each place: width and depth multiply.
  const take = (characters: number) => {
    room -= characters
    if (room < 0) throw new TooMuch()
  }
  const convert = (
    given: unknown,
    levels: number,
    above: readonly string[],
    dropped: readonly string[] = [],
  ): JsonObject => {
    if (--left < 0) throw new TooMuch()
    if (given === false) return { not: {} }
    if (!isObject(given)) return {}
    const reference = memberOf(given, '$ref')
    if (typeof reference !== 'string') return convertMembers(given, levels, above, dropped)
    if (above.includes(reference) || levels < 0) return {}
    const target = convert(pointedAt(document.root, reference), levels, [...above, reference], dropped)
    return document.dialect === '3.0'
      ? target
      : { ...target, ...convertMembers(given, levels, above, dropped) }
  }
  const convertMembers = (
    given: JsonObject,
    levels: number,
    above: readonly string[],
    droppedAbove: readonly string[],
  ): JsonObject => {
    const dropped = [...droppedAbove, ...readOnlyNames(document, given)]
    const made = scalarMembers(given)
    if (Array.isArray(made.required)) made.required = made.required.filter((name) => !dropped.includes(name))
    take(sizeOf(made, { nodes: Number.POSITIVE_INFINITY, text: room }).text)
    if (levels <= 0) return made
    const inner = (value: unknown) => convert(value, levels - 1, above)
    const same = (value: unknown) => convert(value, levels - 1, above, dropped)
    if (isObject(given.items)) made.items = inner(given.items)
    if (isObject(given.not)) made.not = inner(given.not)
    const { additionalProperties } = given
    if (typeof additionalProperties === 'boolean') made.additionalProperties = additionalProperties
    else if (isObject(additionalProperties)) made.additionalProperties = inner(additionalProperties)
    for (const key of LISTS) {
      const list = memberOf(given, key)
      if (Array.isArray(list)) made[key] = list.slice(0, MAX_LISTED).map(key === 'prefixItems' ? inner : same)
    }
    const properties = memberOf(given, 'properties')
    if (isObject(properties))
      made.properties = Object.fromEntries(
        Object.entries(properties).flatMap(([name, value]) => {
          if (dropped.includes(name)) return []
          take(name.length)
          return [[name, inner(value)]]
        }),
      )
    const whole = withDiscriminator(made, given)
    return memberOf(given, 'nullable') === true ? { anyOf: [{ type: 'null' }, whole] } : whole
  }
  try {
    return convert(schema, depth, [])
  } catch (error) {
    if (error instanceof TooMuch || error instanceof ForeignDocumentError) return undefined
    throw error
  }
}

function scalarMembers(given: JsonObject): JsonObject {
  const made: JsonObject = {}
  const { type, format, pattern, description, required } = given
  const types = [type].flat().filter((one) => TYPES.has(one))
  if (types.length > 0) made.type = Array.isArray(type) ? types : types[0]
  // OpenAI refuses lists of which it is not said what they hold.
  if (types.includes('array')) made.items = {}
  for (const [key, text] of Object.entries({ format, pattern }))
    if (typeof text === 'string' && text.length <= MAX_TEXT) made[key] = text
  if (typeof description === 'string') made.description = shortened(description, MAX_DESCRIPTION)
  for (const key of NUMBERS) {
    const number = given[key]
    if (typeof number === 'number' || isExactNumber(number)) made[key] = approximate(number)
  }
  if (typeof given.uniqueItems === 'boolean') made.uniqueItems = given.uniqueItems
  // Providers read schemas by doubles, too, so that the model is told of other numbers in words.
  if (hasExactNumber([given.const, given.enum])) {
    const values = Object.hasOwn(given, 'const') ? [given.const] : (given.enum as unknown[])
    return { ...made, ...inWords(made, values), ...requiredIn(required) }
  }
  if (Object.hasOwn(given, 'const')) made.const = given.const
  // A list of none is refused by providers, with all of the request.
  if (Array.isArray(given.enum) && given.enum.length > 0) made.enum = given.enum.slice(0, MAX_LISTED)
  return { ...made, ...requiredIn(required) }
}

/** A schema with another description; what is said of its values stays. */
export function describedAs(made: JsonObject, description: string): JsonObject {
  const { description: own } = made
  const words = typeof own === 'string' ? own.indexOf(WORDS) : -1
  const all = words === -1 ? description : `${description} ${String(own).slice(words)}`
  return { ...made, description: all }
}

const WORDS = 'One of these values, exactly: '

/** The description of a schema with the values that it takes. */
export function inWords({ description = '' }: JsonObject, values: readonly unknown[]): JsonObject {
  const words = WORDS + JSON.stringify(values.slice(0, MAX_LISTED)).slice(1, -1)
  return { description: [description, words].filter((text) => text !== '').join(' ') }
}

/** Each name once, as providers ask for it. */
function requiredIn(required: unknown): JsonObject {
  if (!Array.isArray(required)) return {}
  return {
    required: [...new Set(required.slice(0, MAX_REQUIRED).filter((name) => typeof name === 'string'))],
  }
}

/** At most `characters` of a text, with a mark where it goes on. */
export function shortened(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 1).toWellFormed()}…` : text
}
