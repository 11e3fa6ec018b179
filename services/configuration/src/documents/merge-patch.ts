import type { JsonObject } from '@parley/shared/json-object'

/** `patch` applied to `target` as RFC 7396 has it; neither is changed. Remaining keys stay in their places. */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, isObject(value) ? mergePatch(objectOr(merged.get(key)), value) : value)
  }
  // Object.fromEntries defines its keys, so that a `__proto__` stays one.
  return Object.fromEntries(merged)
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const objectOr = (value: unknown): JsonObject => (isObject(value) ? value : {})
