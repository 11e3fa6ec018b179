import type { Caller, InternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import { Problem } from '@parley/shared/problem'
import { callerOf, requireCaller } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { Models } from '../models.ts'
import { roleView } from '../roles/role.ts'
import { workspaceView } from '../workspaces/workspace.ts'

const AUTH_BODY_BYTES = 64 * 1024
// The contract takes any object, or nothing at all.
const anyObject = z.looseObject({}).optional()

/** `POST /api/auth/me`: the caller, read afresh; an API token shows the role that it has itself. */
export function meRoute({ models, verifier }: { models: Models; verifier: InternalVerifier }): Router {
  const router = Router()
  router.post(
    '/api/auth/me',
    requireCaller(verifier),
    jsonBody({ maxBytes: AUTH_BODY_BYTES }),
    async (req, res) => {
      parse(anyObject, req.body)
      const user = await currentUser(models, callerOf(res))
      if (user === undefined) throw new Problem('unauthenticated')
      res.set('cache-control', 'no-store').json(user)
    },
  )
  return router
}

async function currentUser(models: Models, caller: Caller) {
  const account = await models.accounts.findById(caller.account._id).lean()
  if (account === null) return undefined
  const [workspace, role] = await Promise.all([
    models.workspaces.findById(account.workspace).lean(),
    models.roles.findById(caller.token === undefined ? account.role : caller.role._id).lean(),
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
    context,
  }
}
