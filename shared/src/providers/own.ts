import type { JsonObject } from '../json-object.ts'

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value at a path of own keys; undefined where there is none. */
export function own(value: unknown, ...keys: string[]): unknown {
  let current = value
  for (const key of keys) {
    if (!isJsonObject(current) || !Object.hasOwn(current, key)) return undefined
    current = current[key]
  }
  return current
}

/** The non-empty text at a path of own keys; undefined where there is none. */
export function textAt(value: unknown, ...keys: string[]): string | undefined {
  const found = own(value, ...keys)
  return typeof found === 'string' && found !== '' ? found : undefined
}
