import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { type RequestHandler, Router } from 'express'
import { findReadable, findWritable, scopeOf } from '../access/authorizer.ts'
import { requireAdminLeft, requireMayManage } from '../access/privileges.ts'
import { userView } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { page, pathId } from '../requests.ts'
import { revokeSessions } from '../sessions/revoke.ts'
import { audit } from '../store/audit.ts'
import { createUser } from './create-user.ts'
import { updateUser } from './update-user.ts'

/** `/rest/users`: the users of the caller's workspace. */
export function userRoutes(administration: Administration, body: RequestHandler): Router {
  const { models, authorizer } = administration
  const router = Router({ caseSensitive: true })
  router
    .route('/users')
    .post(body, createUser(administration))
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'users', 'read'))
      res.json(await page({ req, model: models.accounts, filter, view: userView }))
    })
    .all(methodNotAllowed('GET', 'POST'))
  router
    .route('/users/:id')
    .get(async (req, res) => {
      const lookup = { authorizer, caller: callerOf(res), resource: 'users', id: pathId(req) }
      res.json(userView(await findReadable({ ...lookup, model: models.accounts })))
    })
    .patch(body, updateUser(administration))
    .delete(deleteUser(administration))
    .all(methodNotAllowed('GET', 'PATCH', 'DELETE'))
  return router
}

/** `DELETE /rest/users/{id}`: the user's sessions and API tokens end with them. */
export function deleteUser({ connection, models, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const { document: user } = await findWritable({
      authorizer,
      caller,
      resource: 'users',
      model: models.accounts,
      id: pathId(req),
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
