import { z } from 'zod'

export type JsonObject = Record<string, unknown>

/**
 * A free-form JSON object, taken as it is: `z.record` would drop a `__proto__` key and clone the rest.
 */
export const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  { error: 'expected an object' },
)

/** An integer that JSON carries without loss: any safe integer. */
export const safeInteger = z.number().int()

/** Escapes a key for a JSON Pointer (RFC 6901). */
export function pointerSegment(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The keys of a JSON Pointer (RFC 6901). */
export function keysOfPointer(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}
