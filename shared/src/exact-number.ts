/**
 * A number as it is written, where a double would print as another one: `JSON.stringify` writes it back as it was. In
 * JSON of somebody else's that goes on to somebody else.
 */
export interface ExactNumber {
  readonly rawJSON: string
}

declare global {
  interface JSON {
    rawJSON(text: string): ExactNumber
    isRawJSON(value: unknown): value is ExactNumber
  }
}

/** Fewer digits than that, and no large exponent, are what a double prints. */
const MAY_BE_INEXACT = /[\d.]{16}|[eE][+-]?\d{3}/

/** True when a JSON text may have numbers that a double does not print as they are; where not, it has none. */
export const mayBeInexact = (text: string): boolean => MAY_BE_INEXACT.test(text)

/** The number that a token of JSON writes: itself, or as it is written where a double prints as another one. */
export function exactNumber(token: string): number | ExactNumber {
  const number = Number(token)
  if (!mayBeInexact(token)) return number
  const isExact = Number.isFinite(number) && canonical(token) === canonical(String(number))
  return isExact ? number : JSON.rawJSON(token)
}

/** Browsers that don't know them have none. */
export const isExactNumber = (value: unknown): value is ExactNumber =>
  typeof JSON.isRawJSON === 'function' && JSON.isRawJSON(value)

/** True when a number as it is written is among the values, however deep. */
export function hasExactNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return isExactNumber(value) || Object.values(value).some(hasExactNumber)
}

/** A decimal number: `digits` without zeros around them (none for 0), times ten to the power of `exponent`. */
export interface Decimal {
  isNegative: boolean
  digits: string
  exponent: number
}

const NUMBER = /^([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/

/** The value of a number as JSON or JavaScript writes it. */
export function decimalOf(text: string): Decimal {
  const [, sign, whole = '', fraction = '', power = '0'] = NUMBER.exec(text) ?? []
  const all = whole + fraction
  const first = all.search(/[1-9]/)
  if (first === -1) return { isNegative: false, digits: '', exponent: 0 }
  let end = all.length
  while (all[end - 1] === '0') end--
  const exponent = Number(power) - fraction.length + (all.length - end)
  return { isNegative: sign === '-', digits: all.slice(first, end), exponent }
}

/** One text for each value. */
export function canonical(text: string): string {
  const { isNegative, digits, exponent } = decimalOf(text)
  return `${isNegative ? '-' : ''}${digits}e${exponent}`
}

/** Below 0 where `one` is less than `other`, above where it is more. */
export function compareDecimals(one: Decimal, other: Decimal): number {
  const [a, b] = [signOf(one), signOf(other)]
  return a !== b || a === 0 ? a - b : a * compareMagnitudes(one, other)
}

const signOf = ({ isNegative, digits }: Decimal): number => (digits === '' ? 0 : isNegative ? -1 : 1)

function compareMagnitudes(one: Decimal, other: Decimal): number {
  const [a, b] = [one.digits.length + one.exponent, other.digits.length + other.exponent]
  if (a !== b) return a < b ? -1 : 1
  const length = Math.max(one.digits.length, other.digits.length)
  const [left, right] = [one.digits.padEnd(length, '0'), other.digits.padEnd(length, '0')]
  return left === right ? 0 : left < right ? -1 : 1
}

export const isInteger = ({ exponent }: Decimal): boolean => exponent >= 0

/** Beyond that a multiple is not looked for. */
const MAX_DIGITS = 1_000

/** True when a number is a multiple of another one; false for numbers of over a thousand digits. */
export function isMultipleOf(one: Decimal, other: Decimal): boolean {
  if (one.digits === '') return true
  const least = Math.min(one.exponent, other.exponent)
  const tooLong = [one, other].some(
    ({ digits, exponent }) => digits.length + exponent - least > MAX_DIGITS || digits.length > MAX_DIGITS,
  )
  if (other.digits === '' || tooLong) return false
  const [a, b] = [one, other].map(({ digits, exponent }) => BigInt(digits + '0'.repeat(exponent - least)))
  return (a ?? 0n) % (b ?? 1n) === 0n
}
