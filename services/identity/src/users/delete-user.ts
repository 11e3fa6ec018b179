import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { findWritable } from '../access/authorizer.ts'
import { requireAdminLeft } from '../access/last-admin.ts'
import { requireMayManage } from '../access/privileges.ts'
import type { Administration } from '../administration.ts'
import { pathId } from '../collection/path-id.ts'
import { revokeSessions } from '../sessions/revoke.ts'
import { audit } from '../store/audit.ts'
import { inTransaction } from '../store/transaction.ts'

/** `DELETE /rest/users/{id}`: the user's sessions and API tokens end with them. */
export function deleteUser({ connection, models, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const { document: user } = await findWritable({
      ...{ authorizer, caller, resource: 'users' },
      ...{ model: models.accounts, id: pathId(req) },
    })
    await requireMayManage(models, caller, user.role)
    await inTransaction(connection, async (transaction) => {
      const options = { session: transaction }
      const { deletedCount } = await models.accounts.deleteOne({ _id: user._id, role: user.role }, options)
      if (deletedCount === 0) throw new Problem('precondition_failed', { detail: 'It was just changed.' })
      await requireAdminLeft(models, transaction, user.workspace)
      await models.apiTokens.deleteMany({ account: user._id }, options)
      await revokeSessions(models, transaction, { account: user._id })
      await audit(models, transaction, caller, {
        action: 'delete',
        resource: 'users',
        document: user._id,
        details: { username: user.username, role: user.role },
      })
    })
    res.json({ _id: user._id, deleted: true })
  }
}
