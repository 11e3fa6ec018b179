import { defined } from '@parley/shared/defined'
import { methodNotAllowed } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { type RequestHandler, Router } from 'express'
import { z } from 'zod'
import { findReadable, findWritable, requireFound, requireSelected, scopeOf } from '../access/authorizer.ts'
import { seenByRules } from '../access/caller-of-today.ts'
import {
  requireAdminLeft,
  requireMayGive,
  requireMayGiveOwn,
  requireMayManage,
} from '../access/privileges.ts'
import { label, userView } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { requireStillValid } from '../password-change/recent-password.ts'
import { page, pathId, smallContext } from '../requests.ts'
import { findRole, giveRole, roleReference } from '../roles/find-role.ts'
import { revokeSessions } from '../sessions/revoke.ts'
import type { Account } from '../store/account.ts'
import { audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import { createUser } from './create-user.ts'

/** `/rest/users`: the users of the caller's workspace. */
export function userRoutes(administration: Administration, body: RequestHandler): Router {
  const { collections, authorizer } = administration
  const router = Router({ caseSensitive: true })
  router
    .route('/users')
    .post(body, createUser(administration))
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'users', 'read'))
      res.json(await page({ req, collection: collections.accounts, filter, view: userView }))
    })
    .all(methodNotAllowed('GET', 'POST'))
  router
    .route('/users/:id')
    .get(async (req, res) => {
      const lookup = { authorizer, caller: callerOf(res), resource: 'users', id: pathId(req) }
      res.json(userView(await findReadable({ ...lookup, collection: collections.accounts })))
    })
    .patch(body, updateUser(administration))
    .delete(deleteUser(administration))
    .all(methodNotAllowed('GET', 'PATCH', 'DELETE'))
  return router
}

/** `DELETE /rest/users/{id}`: the user's sessions, API tokens and invitations end with them. */
function deleteUser({ connection, collections, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const { document: user, writable } = await findWritable({
      authorizer,
      caller,
      resource: 'users',
      collection: collections.accounts,
      id: pathId(req),
    })
    await requireMayManage(collections, caller, user.role, seenByRules(user))
    await inTransaction(connection, async (transaction) => {
      const options = { session: transaction }
      const unchanged = { $and: [writable, asJudged(user)] }
      const { deletedCount } = await collections.accounts.deleteOne(unchanged, options)
      requireFound(deletedCount)
      await requireAdminLeft(collections, transaction, user.workspace)
      await collections.apiTokens.deleteMany({ account: user._id }, options)
      await collections.invitations.deleteMany({ account: user._id }, options)
      await revokeSessions(collections, transaction, { account: user._id })
      await announce(collections.changes, transaction, { kind: 'account', key: String(user._id) })
      await audit(collections, transaction, caller, {
        action: 'delete',
        resource: 'users',
        document: user._id,
        details: { username: user.username, role: user.role },
      })
    })
    res.json({ _id: user._id, deleted: true })
  }
}

/** What may change of a user. */
export const userChange = z.strictObject({
  name: label.optional(),
  phone: label.optional(),
  role: roleReference.optional(),
  context: smallContext.optional(),
})

/**
 * `PATCH /rest/users/{id}`: a new role takes effect in under 2 s; the last admin retains theirs. Refused for a user who
 * has more than the caller.
 */
function updateUser({ connection, collections, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const {
      document: user,
      decision,
      writable,
    } = await findWritable({
      authorizer,
      caller,
      resource: 'users',
      collection: collections.accounts,
      id: pathId(req),
    })
    const { role: reference, ...sent } = parse(userChange, req.body)
    const given = reference === undefined ? undefined : await findRole(collections, caller, reference)
    const role = given?._id ?? user.role
    await requireMayManage(collections, caller, user.role, seenByRules(user))
    const change = { ...defined(sent), role, updatedAt: new Date() }
    const after = { ...user, ...change } as Account
    if (given !== undefined && role !== user.role)
      await requireMayGive({ collections, authorizer }, caller, given, seenByRules(after))
    else if (role === caller.role._id) await requireMayGiveOwn(collections, caller, seenByRules(after))
    requireSelected(decision, after)
    await inTransaction(connection, async (transaction) => {
      await requireStillValid(collections, transaction, { caller })
      const { matchedCount } = await collections.accounts.updateOne(
        { $and: [writable, asJudged(user)] },
        { $set: change },
        { session: transaction },
      )
      requireFound(matchedCount)
      if (role !== user.role) {
        await giveRole(collections, transaction, role)
        await requireAdminLeft(collections, transaction, user.workspace)
      }
      await announce(collections.changes, transaction, { kind: 'account', key: String(user._id) })
      await audit(collections, transaction, caller, {
        action: 'update',
        resource: 'users',
        document: user._id,
        details: { fields: Object.keys(sent), ...(role === user.role ? {} : { from: user.role, to: role }) },
      })
    })
    res.json(userView(after))
  }
}

/** Selects the user for as long as nothing has changed that was judged. */
const asJudged = ({ role, name, phone, context }: Account) => ({
  ...{ role, name, phone },
  context: { $eq: context },
})
