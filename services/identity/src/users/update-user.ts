import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { findWritable, requireSelected } from '../access/authorizer.ts'
import { requireAdminLeft, requireMayGive, requireMayManage } from '../access/privileges.ts'
import { label, userView } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { pathId, smallContext } from '../requests.ts'
import { findRole, giveRole, roleReference } from '../roles/find-role.ts'
import { audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'

/** What may change of a user. */
export const userChange = z.strictObject({
  name: label.optional(),
  phone: z.string().optional(),
  role: roleReference.optional(),
  context: smallContext.optional(),
})

/**
 * `PATCH /rest/users/{id}`: a new role takes effect in under 2 s; the last admin keeps theirs. Refused for a user who
 * holds more than the caller.
 */
export function updateUser({ connection, models, authorizer }: Administration): RequestHandler {
  const stored = connection.collection<{ _id: number; role: number }>(models.accounts.collection.name)
  return async (req, res) => {
    const caller = callerOf(res)
    const { document: user, decision } = await findWritable({
      authorizer,
      caller,
      resource: 'users',
      model: models.accounts,
      id: pathId(req),
    })
    const { role: reference, ...sent } = parse(userChange, req.body)
    const given = reference === undefined ? undefined : await findRole(models, caller, reference)
    const role = given?._id ?? user.role
    await requireMayManage(models, caller, user.role)
    if (given !== undefined && role !== user.role) await requireMayGive({ models, authorizer }, caller, given)
    const change = { ...sent, role, updatedAt: new Date() }
    requireSelected(decision, { ...user, ...change })
    await inTransaction(connection, async (transaction) => {
      const unpromoted = { _id: user._id, role: user.role }
      const { matchedCount } = await stored.updateOne(unpromoted, { $set: change }, { session: transaction })
      if (matchedCount === 0) throw new Problem('precondition_failed', { detail: 'It was just changed.' })
      if (role !== user.role) {
        await giveRole(models, transaction, role)
        await requireAdminLeft(models, transaction, user.workspace)
      }
      await announce(models.changes, transaction, { kind: 'account', key: String(user._id) })
      await audit(models, transaction, caller, {
        action: 'update',
        resource: 'users',
        document: user._id,
        details: { fields: Object.keys(sent), ...(role === user.role ? {} : { from: user.role, to: role }) },
      })
    })
    res.json(userView({ ...user, ...change } as typeof user))
  }
}
