import { Problem } from '@parley/shared/problem'
import { z } from 'zod'

/** Where a page of messages ended, newest first. */
export interface Position {
  receivedAt: Date
  _id: string
}

const shape = z.tuple([z.number().int().min(0).max(8.64e15), z.string().min(1).max(128)])

export function encodeCursor({ receivedAt, _id }: Position): string {
  return Buffer.from(JSON.stringify([receivedAt.getTime(), _id])).toString('base64url')
}

/** Throws `validation_failed` for anything that {@link encodeCursor} did not make. */
export function decodeCursor(cursor: string): Position {
  try {
    const [at, _id] = shape.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    return { receivedAt: new Date(at), _id }
  } catch (cause) {
    const errors = [{ path: 'after', code: 'invalid_cursor', message: 'is not a cursor of this list' }]
    throw new Problem('validation_failed', { errors, cause })
  }
}
