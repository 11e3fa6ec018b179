import { randomUUID } from 'node:crypto'
import { hasExactNumber, isExactNumber, mayBeInexact } from '@parley/shared/exact-number'
import { exactOrUndefined } from '@parley/shared/parse-json'
import type { Change } from '../channels/http/pieces.ts'

/** Stands before a number in a text; nobody else can guess it. */
const MARK = randomUUID()
const MARKED = new RegExp(`"${MARK} ([-+.\\deE]+)"`, 'g')

/**
 * Changes a JSON text, or a line of an event stream, for a library that knows doubles alone: numbers under one of the `keys`
 * that doubles print as other ones are texts in it, of which `withItsNumbers` makes numbers again.
 */
export const retainingNumbers =
  (keys: readonly string[]): Change =>
  (piece) =>
    changed(piece, keys)

/** A JSON text with the numbers as they were written. */
export const withItsNumbers = (text: string): string =>
  text.includes(MARK) ? text.replaceAll(MARKED, '$1') : text

function changed(piece: string, keys: readonly string[]): string {
  if (!mayBeInexact(piece)) return piece
  const start = piece.search(/[{[]/)
  const parsed = start === -1 ? undefined : exactOrUndefined(piece.slice(start))
  if (!hasExactNumber(parsed)) return piece
  // The characters that end a line have to stay too.
  const end = piece.trimEnd().length
  return piece.slice(0, start) + JSON.stringify(marked(parsed, keys, false)) + piece.slice(end)
}

function marked(value: unknown, keys: readonly string[], isInside: boolean): unknown {
  if (isExactNumber(value)) return isInside ? `${MARK} ${value.rawJSON}` : Number(value.rawJSON)
  if (Array.isArray(value)) return value.map((one) => marked(one, keys, isInside))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, marked(one, keys, isInside || keys.includes(key))]),
  )
}
