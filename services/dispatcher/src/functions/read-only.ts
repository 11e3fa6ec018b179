import { isObject, memberOf, resolved, type SpecDocument } from './spec-document.ts'

/** How many schemas are looked at for the names of one object: a spec may nest what all belongs to one for ever. */
const MAX_SCHEMAS = 200
const MAX_DEPTH = 100

const COMPOSED = ['allOf', 'anyOf', 'oneOf'] as const

/** True if a schema says that only responses have the values it describes. */
function isReadOnly(document: SpecDocument, given: unknown): boolean {
  if (memberOf(given, 'readOnly') === true) return true
  const target = resolved(document, given)
  if (memberOf(target, 'readOnly') === true) return true
  const all = memberOf(target, 'allOf')
  return Array.isArray(all) && all.slice(0, MAX_SCHEMAS).some((one) => isReadOnlyItself(document, one))
}

const isReadOnlyItself = (document: SpecDocument, given: unknown): boolean =>
  memberOf(given, 'readOnly') === true || memberOf(resolved(document, given), 'readOnly') === true

/** The properties of an object that only responses have, also those that parts of its schema say so of. */
export function readOnlyNames(document: SpecDocument, given: unknown): string[] {
  if (!document.hasDirections || !isObject(given)) return []
  const known = found.get(given)
  if (known !== undefined) return known
  const names = new Set<string>()
  for (const schema of partsOf(document, given)) {
    const properties = memberOf(schema, 'properties')
    if (!isObject(properties)) continue
    for (const [name, one] of Object.entries(properties)) if (isReadOnly(document, one)) names.add(name)
  }
  found.set(given, [...names])
  return [...names]
}

/** Each schema is asked for as often as it is referred to. */
const found = new WeakMap<object, string[]>()

/** A value as it is sent: without what only responses have. */
export function withoutReadOnly(document: SpecDocument, schema: unknown, value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  const parts = partsOf(document, schema)
  const inner = (of: unknown, one: unknown) => withoutReadOnly(document, of, one, depth + 1)
  if (Array.isArray(value)) {
    const items = firstOf(parts, 'items')
    return items === undefined ? value : value.map((one) => inner(items, one))
  }
  if (!isObject(value)) return value
  const left = new Set(readOnlyNames(document, schema))
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => {
      if (left.has(name)) return []
      const of = parts
        .map((part) => memberOf(memberOf(part, 'properties'), name))
        .find((given) => given !== undefined)
      return [[name, of === undefined ? one : inner(of, one)]]
    }),
  )
}

const firstOf = (parts: readonly unknown[], key: string): unknown =>
  parts.map((part) => memberOf(part, key)).find((one) => one !== undefined)

/** The schema, and those that it is composed of. */
export function partsOf(document: SpecDocument, given: unknown): unknown[] {
  const parts = new Set<unknown>()
  const waiting = [given]
  for (let next = waiting.pop(); next !== undefined && parts.size < MAX_SCHEMAS; next = waiting.pop()) {
    const schema = resolved(document, next)
    if (!isObject(schema) || parts.has(schema)) continue
    parts.add(schema)
    for (const key of COMPOSED) {
      const list = memberOf(schema, key)
      if (Array.isArray(list)) waiting.push(...list.slice(0, MAX_SCHEMAS))
    }
    // From 3.1 on, what stands beside a reference counts, too.
    if (schema !== next && isObject(next) && document.dialect !== '3.0') parts.add(next)
  }
  return [...parts]
}
