import type { Caller } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { Collections } from '../store/collections.ts'
import type { Role } from '../store/role.ts'

/** A role in a body: its id, or its name. */
export const roleReference = z.union([z.number().int(), z.string()])

/** The role of the caller's workspace that a body's `role` names. Throws `validation_failed`. */
export async function findRole(
  collections: Pick<Collections, 'roles'>,
  caller: Caller,
  reference: z.output<typeof roleReference>,
): Promise<Role> {
  const named = typeof reference === 'number' ? { _id: reference } : { name: reference }
  const role = await collections.roles.findOne({ ...named, workspace: caller.workspace._id })
  if (role !== null) return role
  throw unknownRole()
}

/** Notes within `transaction` that a role is given, so that nobody deletes it at the same time. */
export async function giveRole(
  collections: Pick<Collections, 'roles'>,
  transaction: mongo.ClientSession,
  role: number,
): Promise<void> {
  const options = { session: transaction }
  const { matchedCount } = await collections.roles.updateOne({ _id: role }, { $inc: { given: 1 } }, options)
  if (matchedCount === 0) throw unknownRole()
}

function unknownRole(): Problem {
  const fieldError = { path: '/role', code: 'unknown_role', message: 'is not a role of this workspace' }
  return new Problem('validation_failed', { errors: [fieldError] })
}
