import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { allows } from '@parley/shared/permission/decide'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { type RequestHandler, Router } from 'express'
import { z } from 'zod'
import { filterOf, requireFound, requireSelected } from '../access/authorizer.ts'
import { label } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { pathId, smallContext } from '../requests.ts'
import { audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import { type Workspace, workspaceView } from '../store/workspace.ts'

/** What may change of a workspace. */
export const workspaceChange = z.strictObject({ name: label.optional(), context: smallContext.optional() })

/** `/rest/workspaces`: the one workspace that the caller is in. */
export function workspaceRoutes(administration: Administration, body: RequestHandler): Router {
  const { authorizer } = administration
  const router = Router({ caseSensitive: true })
  router
    .route('/workspaces')
    .get(async (_req, res) => {
      const caller = callerOf(res)
      const decision = await authorizer.require(caller, 'workspaces', 'read')
      const own = await ownWorkspace(administration, caller)
      res.json({ data: allows(decision, own) ? [workspaceView(own)] : [], next: null })
    })
    .all(methodNotAllowed('GET'))
  router
    .route('/workspaces/:id')
    .get(async (req, res) => {
      res.json(workspaceView(await readable(administration, callerOf(res), pathId(req))))
    })
    .patch(body, updateWorkspace(administration))
    .all(methodNotAllowed('GET', 'PATCH'))
  return router
}

function updateWorkspace(administration: Administration): RequestHandler {
  const { connection, collections, authorizer } = administration
  return async (req, res) => {
    const caller = callerOf(res)
    const decision = await authorizer.require(caller, 'workspaces', 'write')
    const before = await readable(administration, caller, pathId(req))
    requireSelected(decision, before)
    const sent = parse(workspaceChange, req.body)
    const after = { ...before, ...sent, updatedAt: new Date() } as Workspace
    requireSelected(decision, after)
    await inTransaction(connection, async (transaction) => {
      const set = { $set: { ...defined(sent), updatedAt: after.updatedAt } }
      const { _id, name, context } = before
      const unchanged = { $and: [filterOf(decision), { _id, name, context: { $eq: context } }] }
      const { matchedCount } = await collections.workspaces.updateOne(unchanged, set, {
        session: transaction,
      })
      requireFound(matchedCount)
      await announce(collections.changes, transaction, { kind: 'workspace', key: String(before._id) })
      const details = { fields: Object.keys(sent) }
      const act = { action: 'update', resource: 'workspaces', document: before._id, details }
      await audit(collections, transaction, caller, act)
    })
    res.json(workspaceView(after))
  }
}

async function readable(administration: Administration, caller: Caller, id: number): Promise<Workspace> {
  const decision = await administration.authorizer.decide(caller, 'workspaces', 'read')
  const own = id === caller.workspace._id ? await ownWorkspace(administration, caller) : undefined
  if (own === undefined || !allows(decision, own)) throw new Problem('not_found')
  return own
}

async function ownWorkspace({ collections }: Administration, caller: Caller): Promise<Workspace> {
  const own = await collections.workspaces.findOne({ _id: caller.workspace._id })
  if (own === null) throw new Problem('not_found')
  return own
}
