/** The value at the end of a dotted path through own properties of objects; undefined when it leads nowhere. */
export function valueAt(start: unknown, path: string): unknown {
  let value = start
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}
