import { hasExactNumber, isExactNumber } from '@parley/shared/exact-number'
import { ForeignDocumentError, sizeOf } from '@parley/shared/foreign-document'
import type { JsonObject } from '@parley/shared/json-object'
import { approximate } from './exact-schema.ts'
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
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const MAX_LISTED = 200

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
  const convert = (given: unknown, levels: number, above: readonly string[]): JsonObject => {
    if (--left < 0) throw new TooMuch()
    if (given === false) return { not: {} }
    if (!isObject(given)) return {}
    const reference = memberOf(given, '$ref')
    if (typeof reference !== 'string') return convertMembers(given, levels, above)
    if (above.includes(reference) || levels < 0) return {}
    const target = convert(pointedAt(document.root, reference), levels, [...above, reference])
    return document.dialect === '3.0' ? target : { ...target, ...convertMembers(given, levels, above) }
  }
  const convertMembers = (given: JsonObject, levels: number, above: readonly string[]): JsonObject => {
    const made = scalarMembers(given)
    take(sizeOf(made, { nodes: Number.POSITIVE_INFINITY, text: room }).text)
    if (levels <= 0) return made
    const inner = (value: unknown) => convert(value, levels - 1, above)
    for (const key of ['items', 'not']) if (isObject(given[key])) made[key] = inner(given[key])
    const { additionalProperties } = given
    if (typeof additionalProperties === 'boolean') made.additionalProperties = additionalProperties
    else if (isObject(additionalProperties)) made.additionalProperties = inner(additionalProperties)
    for (const key of LISTS) {
      const list = memberOf(given, key)
      if (Array.isArray(list)) made[key] = list.slice(0, MAX_LISTED).map(inner)
    }
    const properties = memberOf(given, 'properties')
    if (isObject(properties))
      made.properties = Object.fromEntries(
        Object.entries(properties).map(([name, value]) => {
          take(name.length)
          return [name, inner(value)]
        }),
      )
    return memberOf(given, 'nullable') === true ? { anyOf: [{ type: 'null' }, made] } : made
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
  if (typeof type === 'string' || Array.isArray(type)) made.type = type
  for (const [key, text] of Object.entries({ format, pattern }))
    if (typeof text === 'string' && text.length <= MAX_TEXT) made[key] = text
  if (typeof description === 'string') made.description = shortened(description, MAX_DESCRIPTION)
  for (const key of NUMBERS) {
    const number = given[key]
    if (typeof number === 'number' || isExactNumber(number)) made[key] = approximate(number)
  }
  if (typeof given.uniqueItems === 'boolean') made.uniqueItems = given.uniqueItems
  // Providers read schemas by doubles, too, so that the model is told of other numbers in words.
  if (hasExactNumber([given.const, given.enum])) return { ...made, ...inWords(made, given) }
  if (Object.hasOwn(given, 'const')) made.const = given.const
  if (Array.isArray(given.enum)) made.enum = given.enum.slice(0, MAX_LISTED)
  if (Array.isArray(required)) made.required = required
  return made
}

/** A schema with another description; what is said of its values stays. */
export function describedAs(made: JsonObject, description: string): JsonObject {
  const { description: own } = made
  const words = typeof own === 'string' ? own.indexOf(WORDS) : -1
  const all = words === -1 ? description : `${description} ${String(own).slice(words)}`
  return { ...made, description: all }
}

const WORDS = 'One of these values, exactly: '

function inWords({ description = '' }: JsonObject, given: JsonObject): JsonObject {
  const { required, enum: listed } = given
  const values = Object.hasOwn(given, 'const') ? [given.const] : (listed as unknown[])
  const words = WORDS + JSON.stringify(values.slice(0, MAX_LISTED)).slice(1, -1)
  const all = [description, words].filter((text) => text !== '').join(' ')
  return { description: all, ...(Array.isArray(required) ? { required } : {}) }
}

/** At most `characters` of a text, with a mark where it goes on. */
export function shortened(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 1).toWellFormed()}…` : text
}
