import { safeInteger } from '../json-object.ts'
import { Problem } from '../problem.ts'
import type { OperationParameter } from './operation.ts'

const INTEGER = /^(0|[1-9]\d{0,15})$/

/** The id in a path. Throws `invalid_id` when it is not a safe integer in its plain form. */
export function pathId({ id = '' }: { id?: string }): number {
  if (!INTEGER.test(id) || !Number.isSafeInteger(Number(id)))
    throw new Problem('invalid_id', { detail: 'An id is an integer of at most 2^53-1.' })
  return Number(id)
}

/** How {@link pathId} is described. */
export const idParameter = (description = 'An integer from 0 to 2^53-1'): OperationParameter => ({
  in: 'path',
  name: 'id',
  description,
  schema: safeInteger.nonnegative(),
  required: true,
  example: 1,
})
