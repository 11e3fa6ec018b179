import type { JsonObject } from '@parley/shared/json-object'
import { isSealed } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-keys'

/**
 * Whether a write says the secrets in a value itself: not where one of them is masked, or left as it is stored. `sent`
 * is the value before its secrets are sealed, `stored` the one that it replaces.
 */
export function isGiven(sent: unknown, stored: unknown): boolean {
  const sealed = new Set([...textsIn(stored)].filter(isSealed))
  for (const text of textsIn(sent)) if (text === MASK || sealed.has(text)) return false
  return true
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  if (typeof value !== 'object' || value === null) return
  for (const inner of Object.values(value as JsonObject)) yield* textsIn(inner)
}
