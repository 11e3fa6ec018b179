import type { Wrong } from '../outbound.ts'
import { isJsonObject } from '../own.ts'

/** Lists the errors of a value that stands at a path. */
export type Check = (value: unknown, path: string[]) => Wrong[]

const wrong = (path: string[], message: string): Wrong[] => [{ path, message }]

/** True when it has more code points. */
const isLonger = (value: string, most: number): boolean =>
  value.length > most && (value.length > 2 * most || [...value].length > most)

/** A text of so many characters. */
export const text =
  (most: number, least = 1): Check =>
  (value, path) => {
    if (typeof value !== 'string') return wrong(path, 'expected a text')
    if (value.trim().length < least) return wrong(path, 'is empty')
    return isLonger(value, most) ? wrong(path, `has more than ${most} characters`) : []
  }

export const number: Check = (value, path) =>
  typeof value === 'number' && Number.isFinite(value) ? [] : wrong(path, 'expected a number')

export const wholeNumber =
  (least: number, most: number): Check =>
  (value, path) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most
      ? []
      : wrong(path, `expected a whole number from ${least} to ${most}`)

/** Of these texts, in capitals or not. */
export const oneOf =
  (names: readonly string[]): Check =>
  (value, path) =>
    typeof value === 'string' && names.includes(value.toLowerCase())
      ? []
      : wrong(path, `is one of ${names.join(', ')}`)

export const link: Check = (value, path) => {
  const errors = text(2_048)(value, path)
  if (errors.length > 0) return errors
  return /^https?:\/\/\S+$/i.test(String(value)) ? [] : wrong(path, 'expected an http(s) URL')
}

export const list =
  (item: Check, most: number, least = 0): Check =>
  (value, path) => {
    if (!Array.isArray(value)) return wrong(path, 'expected a list')
    if (value.length < least) return wrong(path, `has fewer than ${least}`)
    if (value.length > most) return wrong(path, `has more than ${most}`)
    return value.flatMap((one, at) => item(one, [...path, String(at)]))
  }

/** Any object: what is in it is the provider's to judge. */
export const anyObject: Check = (value, path) =>
  isJsonObject(value) ? [] : wrong(path, 'expected an object')

/** An object with these fields and no others; a field whose name ends with `?` may be left out. */
export function shape(fields: Readonly<Record<string, Check>>): Check {
  const known = Object.entries(fields).map(([name, check]) => ({
    name: name.replace(/\?$/, ''),
    check,
    isOptional: name.endsWith('?'),
  }))
  const names = known.map(({ name }) => name)
  return (value, path) => {
    if (!isJsonObject(value)) return wrong(path, 'expected an object')
    const unknown = Object.keys(value)
      .filter((key) => !names.includes(key))
      .flatMap((key) => wrong([...path, key], `is not known here: there are ${names.join(', ')}`))
    const ofKnown = known.flatMap(({ name, check, isOptional }) => {
      if (Object.hasOwn(value, name)) return check(value[name], [...path, name])
      return isOptional ? [] : wrong([...path, name], 'is missing')
    })
    return [...unknown, ...ofKnown]
  }
}

/** An object whose `key` says which of the checks it has to pass. */
export const variant =
  (key: string, checks: Readonly<Record<string, Check>>): Check =>
  (value, path) => {
    if (!isJsonObject(value)) return wrong(path, 'expected an object')
    const name = String(value[key]).toLowerCase()
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    return check?.(value, path) ?? oneOf(Object.keys(checks))(value[key], [...path, key])
  }
