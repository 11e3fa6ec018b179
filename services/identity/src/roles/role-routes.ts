import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { type RequestHandler, Router } from 'express'
import type { mongo } from 'mongoose'
import { findReadable, findWritable, requireFound, scopeOf } from '../access/authorizer.ts'
import { requireMayManage } from '../access/privileges.ts'
import type { Administration } from '../administration.ts'
import { page, pathId } from '../requests.ts'
import { audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import type { Collections } from '../store/collections.ts'
import { roleView } from '../store/role.ts'
import { explainRole } from './explain-role.ts'
import { changeRole, createRole, partOfRole, wholeRole } from './save-role.ts'

/** `/rest/roles`: the roles of the caller's workspace. */
export function roleRoutes(administration: Administration, body: RequestHandler): Router {
  const { collections, authorizer } = administration
  const router = Router({ caseSensitive: true })
  router
    .route('/roles')
    .post(body, createRole(administration))
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'roles', 'read'))
      res.json(await page({ req, collection: collections.roles, filter, view: roleView }))
    })
    .all(methodNotAllowed('GET', 'POST'))
  router
    .route('/roles/:id')
    .get(async (req, res) => {
      const lookup = { authorizer, caller: callerOf(res), resource: 'roles', id: pathId(req) }
      res.json(roleView(await findReadable({ ...lookup, collection: collections.roles })))
    })
    .put(body, changeRole(administration, wholeRole))
    .patch(body, changeRole(administration, partOfRole))
    .delete(deleteRole(administration))
    .all(methodNotAllowed('GET', 'PUT', 'PATCH', 'DELETE'))
  router.route('/roles/:id/explain').post(body, explainRole(administration)).all(methodNotAllowed('POST'))
  return router
}

/** `DELETE /rest/roles/{id}`: 409 while users, API tokens or invitations have the role. */
function deleteRole({ connection, collections, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const { document: role, writable } = await findWritable({
      authorizer,
      caller,
      resource: 'roles',
      collection: collections.roles,
      id: pathId(req),
    })
    await requireMayManage(collections, caller, role._id)
    await inTransaction(connection, async (transaction) => {
      const unchanged = { $and: [writable, { version: role.version }] }
      const { deletedCount } = await collections.roles.deleteOne(unchanged, { session: transaction })
      requireFound(deletedCount)
      await requireUnused(collections, transaction, role._id)
      await announce(collections.changes, transaction, { kind: 'role', key: String(role._id) })
      const act = { action: 'delete', resource: 'roles', document: role._id, details: { name: role.name } }
      await audit(collections, transaction, caller, act)
    })
    res.json({ _id: role._id, deleted: true })
  }
}

async function requireUnused(
  collections: Collections,
  transaction: mongo.ClientSession,
  role: number,
): Promise<void> {
  const options = { session: transaction }
  const users = await collections.accounts.countDocuments({ role }, options)
  const tokens = await collections.apiTokens.countDocuments({ role }, options)
  const invitations = await collections.invitations.countDocuments({ role }, options)
  if (users + tokens + invitations > 0)
    throw new Problem('still_referenced', { extra: { referrers: { users, tokens, invitations } } })
}
