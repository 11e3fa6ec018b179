/** Keys that the driver would not give back as they were: a DBRef's and its own type mark. */
const UNSAFE = /^~*(?:\$ref|_bsontype)$/
const ESCAPED = /^~+(?:\$ref|_bsontype)$/

/** The value with the keys escaped that the BSON library takes for its own; the same object where there are none. */
export const escapeKeys = <T>(value: T): T => mapKeys(value, (key) => (UNSAFE.test(key) ? `~${key}` : key))

/** Undoes {@link escapeKeys}. */
export const unescapeKeys = <T>(value: T): T =>
  mapKeys(value, (key) => (ESCAPED.test(key) ? key.slice(1) : key))

type KeyMap = (key: string) => string

/** Recursion is safe: a body's depth is checked before it comes here. Copies only what it changes. */
function mapKeys<T>(value: T, rename: KeyMap): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return mapItems(value, rename) as T
  let changed = false
  const entries = Object.entries(value).map(([key, inner]) => {
    const entry = [rename(key), mapKeys(inner, rename)] as const
    changed ||= entry[0] !== key || entry[1] !== inner
    return entry
  })
  // Object.fromEntries defines its keys, so that a `__proto__` stays one.
  return changed ? (Object.fromEntries(entries) as T) : value
}

function mapItems(items: unknown[], rename: KeyMap): unknown[] {
  const mapped = items.map((item) => mapKeys(item, rename))
  return mapped.some((item, at) => item !== items[at]) ? mapped : items
}
