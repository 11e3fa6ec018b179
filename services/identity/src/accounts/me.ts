import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { unescapeKeys } from '@parley/shared/safe-keys'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import { seenByRules } from '../access/caller-of-today.ts'
import { requireMayGiveOwn } from '../access/privileges.ts'
import type { Administration } from '../administration.ts'
import { requireStillValid } from '../password-change/recent-password.ts'
import { authBody } from '../requests.ts'
import { withSession } from '../sessions/own-sessions.ts'
import { audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import type { Collections } from '../store/collections.ts'
import { roleView } from '../store/role.ts'
import { workspaceView } from '../store/workspace.ts'
import { label } from './user-fields.ts'

// The contract takes any object, or nothing at all.
export const anyObject = z.looseObject({}).optional()

/** What one may change of oneself: what is left out stays. */
export const ownChange = z.strictObject({ name: label.optional(), phone: label.optional() })

/**
 * `/api/auth/me`: POST reads the caller afresh (an API token shows the role that it has itself), PATCH changes the
 * caller's own name and phone number, for who is logged in.
 */
export function meRoute(dependencies: Pick<Administration, 'connection' | 'collections'>): Router {
  const { collections } = dependencies
  const router = Router({ caseSensitive: true })
  router.post('/api/auth/me', authBody(), async (req, res) => {
    parse(anyObject, req.body)
    const user = await currentUser(collections, callerOf(res))
    if (user === undefined) throw new Problem('unauthenticated')
    res.set('cache-control', 'no-store').json(user)
  })
  router.patch('/api/auth/me', authBody(), async (req, res) => {
    const { caller } = withSession(callerOf(res))
    await changeOwn(dependencies, caller, parse(ownChange, req.body))
    const user = await currentUser(collections, caller)
    if (user === undefined) throw new Problem('unauthenticated')
    res.set('cache-control', 'no-store').json(user)
  })
  return router
}

/** Throws `forbidden` where the role's rules go by the name, and would grant the new one more. */
async function changeOwn(
  { connection, collections }: Pick<Administration, 'connection' | 'collections'>,
  caller: Caller,
  sent: z.output<typeof ownChange>,
): Promise<void> {
  const account = await collections.accounts.findOne({ _id: caller.account._id })
  if (account === null) throw new Problem('unauthenticated')
  const { _id, name, role } = account
  const change = defined(sent)
  await requireMayGiveOwn(collections, caller, seenByRules({ ...account, ...change }))
  await inTransaction(connection, async (transaction) => {
    await requireStillValid(collections, transaction, { caller })
    const asJudged = { _id, name, role }
    const set = { $set: { ...change, updatedAt: new Date() } }
    const { matchedCount } = await collections.accounts.updateOne(asJudged, set, { session: transaction })
    if (matchedCount === 0) throw new Problem('precondition_failed')
    await announce(collections.changes, transaction, { kind: 'account', key: String(_id) })
    const act = {
      action: 'update',
      resource: 'users',
      document: _id,
      details: { fields: Object.keys(change) },
    }
    await audit(collections, transaction, caller, act)
  })
}

async function currentUser(collections: Collections, caller: Caller) {
  const account = await collections.accounts.findOne({ _id: caller.account._id })
  if (account === null) return undefined
  const [workspace, role] = await Promise.all([
    collections.workspaces.findOne({ _id: account.workspace }),
    collections.roles.findOne({ _id: caller.token === undefined ? account.role : caller.role._id }),
  ])
  if (workspace === null || role === null) return undefined
  const { _id, provider, username, name, profile, createdAt, updatedAt, context } = account
  return {
    _id,
    provider,
    username,
    name,
    profile,
    workspace: workspaceView(workspace),
    role: roleView(role),
    createdAt,
    updatedAt,
    context: unescapeKeys(context),
  }
}
