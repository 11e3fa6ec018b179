import { exactNumber, mayBeInexact } from './exact-number.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * `JSON.parse`, and right where that is not: V8 14.6 reads a key that is written with an escape as another key, which
 * ends with a backslash and stood in its place before (nodejs/node#63785). Throws a SyntaxError for what is no JSON.
 */
export function parseJson(text: string): unknown {
  return withItsKeys(text, JSON.parse(text))
}

/** As {@link parseJson}, for a text that `JSON.parse` has made `parsed` of already. */
export function withItsKeys(text: string, parsed: unknown): unknown {
  return hasEscapedKey(text) ? read(text) : parsed
}

/**
 * As {@link parseJson}; a number that a double would print as another one is an {@link ExactNumber}. Recurses, so the
 * depth is to be bounded before.
 */
export function parseExact(text: string): unknown {
  const parsed: unknown = JSON.parse(text)
  return mayBeInexact(text) ? read(text, numbersAsWritten) : withItsKeys(text, parsed)
}

const numbersAsWritten = (token: string): unknown =>
  /^[-\d]/.test(token) ? exactNumber(token) : JSON.parse(token)

/** True when a text, which is JSON, has a key with an escape in it. */
function hasEscapedKey(text: string): boolean {
  if (!text.includes('\\')) return false
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const end = endOfString(text, at)
    if (text[skipBlanks(text, end)] === ':' && text.slice(at, end).includes('\\')) return true
    at = end
  }
  return false
}

/** Where the string ends that begins at `at`. */
function endOfString(text: string, at: number): number {
  let end = at + 1
  for (let code = text.charCodeAt(end); code !== QUOTE; code = text.charCodeAt(end))
    end += code === BACKSLASH ? 2 : 1
  return end + 1
}

function skipBlanks(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) <= 0x20) at++
  return at
}

const SCALAR = /[^\s,\]}]+/y

/** Reads JSON that is known to be well-formed, and not deeper than a caller may nest. */
function read(text: string, scalarOf: (token: string) => unknown = JSON.parse): unknown {
  let at = 0
  const next = (): string | undefined => {
    at = skipBlanks(text, at)
    return text[at]
  }
  const string = (): string => {
    const start = at
    at = endOfString(text, start)
    return JSON.parse(text.slice(start, at))
  }
  const scalar = (): unknown => {
    SCALAR.lastIndex = at
    const [token = ''] = SCALAR.exec(text) ?? []
    at += token.length
    return scalarOf(token)
  }
  const items = <T>(close: string, item: () => T): T[] => {
    const found: T[] = []
    at++
    while (next() !== close) {
      found.push(item())
      if (next() === ',') at++
    }
    at++
    return found
  }
  const member = (): [string, unknown] => {
    const key = string()
    next()
    at++
    return [key, value()]
  }
  const value = (): unknown => {
    const first = next()
    // Object.fromEntries defines its keys, so that a `__proto__` stays one.
    if (first === '{') return Object.fromEntries(items('}', member))
    if (first === '[') return items(']', value)
    return first === '"' ? string() : scalar()
  }
  return value()
}

/** As {@link jsonOrUndefined}, by {@link parseExact}. */
export function exactOrUndefined(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** Parses a JSON text; undefined for what is no JSON. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
