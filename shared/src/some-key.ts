/**
 * Whether any key in the value, at any depth, is such a one. It copies nothing, so it costs a fraction of mapping a
 * value that mostly has none.
 */
export function someKey(value: unknown, is: (key: string) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some((item) => someKey(item, is))
  for (const key of Object.keys(value)) {
    if (is(key) || someKey((value as Record<string, unknown>)[key], is)) return true
  }
  return false
}
