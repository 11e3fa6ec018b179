import { isExactNumber } from '@parley/shared/exact-number'
import type { JsonObject } from '@parley/shared/json-object'

/** Anthropic refuses a request with any other name of a property in it. */
const NAME = /^[\w.-]{1,64}$/
const MAX_CHARACTERS = 64
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const SCHEMAS = ['items', 'additionalProperties', 'not']

/** A schema without references, with names of properties that every provider takes: `filter[status]` is `filter_status`. */
export function withPlainNames(schema: JsonObject): JsonObject {
  const made: JsonObject = { ...schema }
  const { properties } = schema
  if (isObject(properties)) {
    const names = plainNames(properties)
    made.properties = Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [names.get(name) ?? name, inner(one)]),
    )
    if (Array.isArray(schema.required))
      made.required = schema.required.map((name) => names.get(String(name)) ?? name)
  }
  for (const key of LISTS) if (Array.isArray(schema[key])) made[key] = schema[key].map(inner)
  for (const key of SCHEMAS) if (isObject(schema[key])) made[key] = withPlainNames(schema[key])
  return made
}

const inner = (one: unknown): unknown => (isObject(one) ? withPlainNames(one) : one)

/** Arguments by {@link withPlainNames} of a schema, under the names that the schema itself has. */
export function withOwnNames(schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value
  if (Array.isArray(value)) return value.map((one) => withOwnNames(schema.items, one))
  const composed = LISTS.flatMap((key) => (Array.isArray(schema[key]) ? schema[key] : []))
  if (!isObject(value)) return value
  const { properties, additionalProperties } = schema
  const own = isObject(properties) ? properties : {}
  const names = new Map([...plainNames(own)].map(([name, plain]) => [plain, name]))
  const named = Object.entries(value).map(([given, one]) => {
    const name = names.get(given) ?? given
    return [name, withOwnNames(Object.hasOwn(own, name) ? own[name] : additionalProperties, one)]
  })
  return composed.reduce((all: unknown, one) => withOwnNames(one, all), Object.fromEntries(named))
}

/** Of the names that not every provider takes: those that they get, each its own among all of the object. */
function plainNames(properties: JsonObject): Map<string, string> {
  const all = Object.keys(properties)
  const taken = new Set(all.filter((name) => NAME.test(name)))
  const names = new Map<string, string>()
  for (const name of all) {
    if (NAME.test(name)) continue
    const plain = uniqueAmong(taken, name)
    taken.add(plain)
    names.set(name, plain)
  }
  return names
}

function uniqueAmong(taken: ReadonlySet<string>, name: string): string {
  const parts = name.replaceAll(/[^\w.-]/g, '_').split('_')
  const plain = parts.filter((part) => part !== '').join('_') || 'p'
  let unique = plain.slice(0, MAX_CHARACTERS)
  for (let n = 2; taken.has(unique); n++) {
    const suffix = `_${n}`
    unique = plain.slice(0, MAX_CHARACTERS - suffix.length) + suffix
  }
  return unique
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
}
