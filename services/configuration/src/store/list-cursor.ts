import { Problem } from '@parley/shared/problem'
import { z } from 'zod'

/** Where a page ended: the sort field's indexed value, and the id, of its last document. */
export interface Position {
  value: string | number | null
  id: number
}

const token = z.tuple([
  z.string(),
  z.union([z.string().max(256), z.number(), z.null()]),
  z.number().int().nonnegative(),
])

/** The opaque text that a caller sends back as `after`. */
export function encodeCursor(sort: string, { value, id }: Position): string {
  return Buffer.from(JSON.stringify([sort, value, id])).toString('base64url')
}

/** Throws `validation_failed` for anything but a cursor of a list in the same order. */
export function decodeCursor(sort: string, text: string): Position {
  try {
    const [madeFor, value, id] = token.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
    if (madeFor === sort) return { value, id }
  } catch {
    // Told to the caller below, whatever is wrong with it.
  }
  throw new Problem('validation_failed', {
    errors: [{ path: 'after', code: 'bad_cursor', message: 'not a cursor of a list in this order' }],
  })
}
