const ESCAPE = '~'

/**
 * True when the BSON library takes the key for its own: a DBRef's, its type mark, or one that it finds on
 * Object.prototype when it looks up its options by it.
 */
function isUnsafe(key: string): boolean {
  const bare = key.startsWith(ESCAPE) ? key.replace(/^~+/, '') : key
  return bare === '$ref' || bare === '_bsontype' || bare in Object.prototype
}

/** The key as {@link escapeKeys} stores it. */
export const escapeKey = (key: string): string => (isUnsafe(key) ? ESCAPE + key : key)

/** The value with the keys escaped that would not come back as they are; the same object where there are none. */
export const escapeKeys = <T>(value: T): T => (someKey(value, isUnsafe) ? mapKeys(value, escapeKey) : value)

/** Undoes {@link escapeKeys}. */
export const unescapeKeys = <T>(value: T): T =>
  someKey(value, isEscaped) ? mapKeys(value, (key) => (isEscaped(key) ? key.slice(1) : key)) : value

const isEscaped = (key: string): boolean => key.startsWith(ESCAPE) && isUnsafe(key)

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

/**
 * True when any key in the value, at any depth, is such a one. It copies nothing, so it costs a fraction of mapping a
 * value that mostly has none.
 */
function someKey(value: unknown, is: (key: string) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some((item) => someKey(item, is))
  for (const key of Object.keys(value)) {
    if (is(key) || someKey((value as Record<string, unknown>)[key], is)) return true
  }
  return false
}
