import { alignItems } from '@parley/shared/masked-items'
import { isSecretKey, MASK } from '@parley/shared/secret-keys'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** A value with every secret in it masked, so that none is on the screen by accident. */
export function mask(value: unknown, secret = false): unknown {
  if (Array.isArray(value)) return value.map((one) => mask(one, secret))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, mask(one, secret || isSecretKey(key))]),
    )
  return secret && value !== null ? MASK : value
}

/** What was typed, with the secrets of `before` where the mask was left and it is certain which was meant. */
export function unmask(typed: unknown, before: unknown): unknown {
  return restore(
    typed,
    alignItems(typed, before, (one, other) => one === other),
  )
}

function restore(typed: unknown, before: unknown): unknown {
  if (typed === MASK) return before ?? typed
  if (Array.isArray(typed))
    return typed.map((one, at) => restore(one, Array.isArray(before) ? before[at] : undefined))
  if (isObject(typed))
    return Object.fromEntries(
      Object.entries(typed).map(([key, one]) => [
        key,
        restore(one, isObject(before) ? before[key] : undefined),
      ]),
    )
  return typed
}
