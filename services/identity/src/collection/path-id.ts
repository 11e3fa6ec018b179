import { Problem } from '@parley/shared/problem'
import type { Request } from 'express'

const INTEGER = /^(0|[1-9]\d{0,15})$/

/** The id at the end of the path. Throws `invalid_id` when it is not a safe integer in its plain form. */
export function pathId(req: Request): number {
  const text = String(req.params.id)
  const id = Number(text)
  if (!INTEGER.test(text) || !Number.isSafeInteger(id)) throw new Problem('invalid_id')
  return id
}
