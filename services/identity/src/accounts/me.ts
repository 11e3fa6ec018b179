import type { Caller } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { unescapeKeys } from '@parley/shared/safe-keys'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import { authBody } from '../requests.ts'
import type { Collections } from '../store/collections.ts'
import { roleView } from '../store/role.ts'
import { workspaceView } from '../store/workspace.ts'

// The contract takes any object, or nothing at all.
export const anyObject = z.looseObject({}).optional()

/** `POST /api/auth/me`: the caller, read afresh; an API token shows the role that it has itself. */
export function meRoute({ collections }: { collections: Collections }): Router {
  const router = Router({ caseSensitive: true })
  router.post('/api/auth/me', authBody(), async (req, res) => {
    parse(anyObject, req.body)
    const user = await currentUser(collections, callerOf(res))
    if (user === undefined) throw new Problem('unauthenticated')
    res.set('cache-control', 'no-store').json(user)
  })
  return router
}

/** An account with its workspace and role, as its caller sees it; undefined where it is gone. */
export async function currentUser(collections: Collections, caller: Caller) {
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
