const DUPLICATE_KEY = 11_000

/** Which unique index refused a write: that of `_id`, or another; undefined when the error is something else. */
export function duplicateOf(error: unknown): 'id' | 'key' | undefined {
  const { code, keyPattern } = error as { code?: unknown; keyPattern?: Record<string, unknown> }
  if (code !== DUPLICATE_KEY) return undefined
  return keyPattern !== undefined && '_id' in keyPattern ? 'id' : 'key'
}
