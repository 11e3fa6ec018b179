import type { JsonObject } from '@parley/shared/json-object'
import { isObject, memberOf } from './spec-document.ts'

const MAX_NAMES = 200
const SCHEMAS = '#/components/schemas/'

/**
 * What a schema's `discriminator` says, shown in the schema that a model is given: which value of the property stands for
 * which alternative, or which values there are.
 */
export function withDiscriminator(made: JsonObject, given: JsonObject): JsonObject {
  const discriminator = memberOf(given, 'discriminator')
  const property = memberOf(discriminator, 'propertyName')
  if (typeof property !== 'string') return made
  const mapped = memberOf(discriminator, 'mapping')
  const mapping = isObject(mapped) ? Object.entries(mapped).slice(0, MAX_NAMES) : []
  const lists = ['oneOf', 'anyOf'].filter((key) => Array.isArray(given[key]) && Array.isArray(made[key]))
  if (lists.length === 0) return withValues(made, property, namesOf(mapping))
  const alternatives = lists.map((key) => {
    const shown = made[key] as JsonObject[]
    const all = shown.map((one, at) => {
      const reference = memberOf((given[key] as unknown[])[at], '$ref')
      return typeof reference === 'string' ? withValues(one, property, namesFor(reference, mapping)) : one
    })
    return [key, all] as const
  })
  return { ...made, ...Object.fromEntries(alternatives) }
}

type Mapping = readonly (readonly [name: string, schema: unknown])[]

const namesOf = (mapping: Mapping): string[] => mapping.map(([name]) => name)

/** A schema that the mapping does not name stands for its own name. */
function namesFor(reference: string, mapping: Mapping): string[] {
  const names = namesOf(
    mapping.filter(([, schema]) => [schema, SCHEMAS + String(schema)].includes(reference)),
  )
  return names.length > 0 ? names : [reference.slice(reference.lastIndexOf('/') + 1)]
}

/** Where the property says itself which values it has, these count. */
function withValues(made: JsonObject, property: string, values: readonly string[]): JsonObject {
  const properties = isObject(made.properties) ? made.properties : {}
  const own = Object.hasOwn(properties, property) ? properties[property] : {}
  const isSaid = !isObject(own) || own.enum !== undefined || own.const !== undefined
  if (values.length === 0 || isSaid) return made
  return { ...made, properties: { ...properties, [property]: { type: 'string', ...own, enum: [...values] } } }
}
