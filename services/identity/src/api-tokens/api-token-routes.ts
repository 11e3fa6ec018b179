import { methodNotAllowed } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { type RequestHandler, Router } from 'express'
import { findWritable, scopeOf } from '../access/authorizer.ts'
import { requireMayManage } from '../access/privileges.ts'
import type { Administration } from '../administration.ts'
import { page, pathId } from '../requests.ts'
import { apiTokenView } from '../store/api-token.ts'
import { audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import { createApiToken } from './create-api-token.ts'

/** `/api/auth/tokens`: long-lived tokens of the caller's workspace. */
export function apiTokenRoutes(administration: Administration, body: RequestHandler): Router {
  const { models, authorizer } = administration
  const router = Router({ caseSensitive: true })
  router
    .route('/api/auth/tokens')
    .post(body, createApiToken(administration))
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'tokens', 'read'))
      res.json(await page({ req, model: models.apiTokens, filter, view: apiTokenView }))
    })
    .all(methodNotAllowed('GET', 'POST'))
  router.route('/api/auth/tokens/:id').delete(revokeApiToken(administration)).all(methodNotAllowed('DELETE'))
  return router
}

/** Ends a token: it stops working in under 2 s. */
function revokeApiToken({ connection, models, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const { document: token } = await findWritable({
      authorizer,
      caller,
      resource: 'tokens',
      model: models.apiTokens,
      id: pathId(req),
    })
    if (token.account !== caller.account._id) await requireMayManage(models, caller, token.role)
    await inTransaction(connection, async (transaction) => {
      await models.apiTokens.deleteOne({ _id: token._id }, { session: transaction })
      await announce(models.changes, transaction, { kind: 'token', key: String(token._id) })
      await audit(models, transaction, caller, {
        action: 'delete',
        resource: 'tokens',
        document: token._id,
        details: { name: token.name, role: token.role },
      })
    })
    res.json({ _id: token._id, deleted: true })
  }
}
