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
