import { isExactNumber } from '@parley/shared/exact-number'
import type { JsonObject } from '@parley/shared/json-object'
import { inWords } from '../../functions/model-schema.ts'

const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const SCHEMAS = ['items', 'additionalProperties', 'not']
/** Keywords that apply to one type alone. */
const OF_TYPE: Record<string, readonly string[]> = {
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
  object: ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  string: ['format', 'pattern', 'minLength', 'maxLength'],
  number: ['format', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
}

/**
 * A schema that Gemini takes behind OpenAI's protocol, too: it refuses a request with a list of types, or with choices that are
 * no texts. Others take both forms; arguments are checked by the whole schema in any case.
 */
export function plainSchema(schema: JsonObject): JsonObject {
  const { type, enum: listed, const: only, ...rest } = withPlainParts(schema)
  const choices = only === undefined ? listed : [only]
  const values = Array.isArray(choices) ? choices : undefined
  const types = [type ?? typesOf(values)].flat().map(String)
  const [first] = types
  if (first === undefined) return rest
  if (types.length === 1) return { ...alone(first, rest), ...chosen(first, values, rest) }
  // A composed schema already has its types in its parts.
  if (LISTS.some((key) => key in rest)) return rest
  const { description, ...own } = rest
  const anyOf = types.map((one) => {
    const given = alone(one, own)
    return {
      ...given,
      ...chosen(
        one,
        values?.filter((value) => isOf(one, value)),
        given,
      ),
    }
  })
  return { ...(description === undefined ? {} : { description }), anyOf }
}

const alone = (type: string, { ...members }: JsonObject): JsonObject => {
  const other = Object.entries(OF_TYPE).flatMap(([of, keys]) => (kindOf(type) === of ? [] : keys))
  const own = new Set(OF_TYPE[kindOf(type)])
  return {
    type,
    ...Object.fromEntries(Object.entries(members).filter(([key]) => own.has(key) || !other.includes(key))),
  }
}

function chosen(type: string, values: unknown[] | undefined, given: JsonObject): JsonObject {
  if (values === undefined || values.length === 0 || type === 'null') return {}
  const texts = values.filter((value) => typeof value === 'string')
  if (type !== 'string') return inWords(given, values)
  return texts.length > 0 ? { enum: texts } : {}
}

function withPlainParts(schema: JsonObject): JsonObject {
  const made = { ...schema }
  const plain = (one: unknown): unknown => (isObject(one) ? plainSchema(one) : one)
  const { properties } = schema
  if (isObject(properties))
    made.properties = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, plain(one)]))
  for (const key of LISTS) if (Array.isArray(schema[key])) made[key] = schema[key].map(plain)
  for (const key of SCHEMAS) made[key] = plain(schema[key])
  for (const key of SCHEMAS) if (made[key] === undefined) delete made[key]
  return made
}

const typesOf = (values: readonly unknown[] = []): string[] => [...new Set(values.map(typeOf))]

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

const kindOf = (type: string): string => (type === 'integer' ? 'number' : type)
const isOf = (type: string, value: unknown): boolean => typeOf(value) === kindOf(type)

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
}
