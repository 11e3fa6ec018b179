import { randomUUID } from 'node:crypto'
import {
  canonical,
  compareDecimals,
  type Decimal,
  decimalOf,
  type ExactNumber,
  hasExactNumber,
  isExactNumber,
  isInteger,
  isMultipleOf,
} from '@parley/shared/exact-number'
import type { JsonObject } from '@parley/shared/json-object'

/** The keywords of JSON Schema 2020-12 under which schemas stand: one, a list of them, one for each name. */
export const SCHEMAS = [
  ...['not', 'if', 'then', 'else', 'items', 'contains', 'additionalProperties', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
]
export const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
export const MAPS = ['properties', 'patternProperties', 'dependentSchemas']

/** Keywords that apply to a number or a text alone. */
const OF_SCALARS = [
  ...['type', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  ...['maxLength', 'minLength', 'pattern', 'format'],
]
const RANGES: Record<string, [least: Decimal, most: Decimal]> = {
  int32: [decimalOf('-2147483648'), decimalOf('2147483647')],
  int64: [decimalOf('-9223372036854775808'), decimalOf('9223372036854775807')],
}

/** Values with the numbers in them as doubles, however they are written. */
export function approximate<T>(value: T | ExactNumber): T {
  if (isExactNumber(value)) return Number(value.rawJSON) as T
  return hasExactNumber(value) ? (mapped(value, (one) => approximate(one)) as T) : value
}

/**
 * A schema, without references to elsewhere, and a value as an interpreter that knows doubles alone can compare them:
 * each number of the value that is written exactly, or is too large for all of its neighbours to be doubles, is a text in
 * its place, and each schema says of those texts which fit. Undefined where the value has no such number.
 */
export function exactly(schema: JsonObject, value: unknown): { schema: unknown; value: unknown } | undefined {
  const marks = new Map<string, Decimal>()
  // Nobody can guess it, and so give a text for a number.
  const nonce = randomUUID()
  const markOf = (number: number | ExactNumber): string => {
    const text = isExactNumber(number) ? number.rawJSON : String(number)
    return `${nonce} ${canonical(text)}`
  }
  const marked = (one: unknown): unknown => (isMarked(one) ? markOf(one) : mapped(one, marked))
  const collect = (one: unknown): void => {
    if (isMarked(one)) marks.set(markOf(one), decimalOfNumber(one))
    else if (typeof one === 'object' && one !== null) Object.values(one).forEach(collect)
  }
  collect(value)
  if (marks.size === 0) return undefined
  return { schema: schemaWith(marks, marked)(schema), value: marked(value) }
}

const isMarked = (value: unknown): value is number | ExactNumber =>
  isExactNumber(value) || (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)

const decimalOfNumber = (number: number | ExactNumber): Decimal =>
  decimalOf(isExactNumber(number) ? number.rawJSON : String(number))

function mapped(value: unknown, change: (inner: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change)
  if (typeof value !== 'object' || value === null) return value
  // Object.fromEntries defines its keys, so that a `__proto__` stays one.
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, change(inner)]))
}

function schemaWith(marks: ReadonlyMap<string, Decimal>, marked: (value: unknown) => unknown) {
  const convert = (given: unknown): unknown => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
    const made: JsonObject = { ...given }
    for (const key of ['enum', 'const']) if (Object.hasOwn(made, key)) made[key] = marked(made[key])
    for (const key of SCHEMAS) if (Object.hasOwn(made, key)) made[key] = convert(made[key])
    for (const key of LISTS) if (Array.isArray(made[key])) made[key] = mapped(made[key], convert)
    for (const key of [...MAPS, '$defs']) if (Object.hasOwn(made, key)) made[key] = mapped(made[key], convert)
    return withScalars(made)
  }
  /** Applies the keywords for numbers and texts to marks separately. */
  const withScalars = (made: JsonObject): JsonObject => {
    const own = OF_SCALARS.filter((key) => Object.hasOwn(made, key))
    if (own.length === 0) return made
    const scalars = Object.fromEntries(own.map((key) => [key, approximate(made[key])]))
    const wrong = [...marks].flatMap(([mark, value]) => (fits(made, value) ? [] : [mark]))
    const rest = Object.fromEntries(Object.entries(made).filter(([key]) => !own.includes(key)))
    const ofMarks = [{ if: { enum: [...marks.keys()] }, else: scalars }, { not: { enum: wrong } }]
    return { ...rest, allOf: [...(Array.isArray(rest.allOf) ? rest.allOf : []), ...ofMarks] }
  }
  return convert
}

/** True if a number fits the keywords of a schema that apply to numbers alone. */
function fits(schema: JsonObject, value: Decimal): boolean {
  const { type, format } = schema
  const types = typeof type === 'string' ? [type] : type
  const isOfType =
    !Array.isArray(types) || types.includes('number') || (types.includes('integer') && isInteger(value))
  const range = typeof format === 'string' && isInteger(value) ? RANGES[format] : undefined
  const compared = (key: string): number | undefined => {
    const bound = boundOf(schema[key])
    return bound === undefined ? undefined : compareDecimals(value, bound)
  }
  const factor = boundOf(schema.multipleOf)
  return (
    isOfType &&
    (range === undefined ||
      (compareDecimals(value, range[0]) >= 0 && compareDecimals(value, range[1]) <= 0)) &&
    (compared('minimum') ?? 0) >= 0 &&
    (compared('maximum') ?? 0) <= 0 &&
    (compared('exclusiveMinimum') ?? 1) > 0 &&
    (compared('exclusiveMaximum') ?? -1) < 0 &&
    (factor === undefined || isMultipleOf(value, factor))
  )
}

const boundOf = (bound: unknown): Decimal | undefined =>
  typeof bound === 'number' || isExactNumber(bound) ? decimalOfNumber(bound) : undefined
