import type { Authorizer } from '@parley/shared/authorizer'
import { methodNotAllowed } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { Router } from 'express'
import { scopeOf } from '../access/authorizer.ts'
import { page } from '../requests.ts'
import type { AuditEntry } from '../store/audit.ts'
import type { Collections } from '../store/collections.ts'

/** `GET /rest/audit`: what was done in the caller's workspace, the latest first. */
export function auditRoutes({
  collections,
  authorizer,
}: {
  collections: Pick<Collections, 'audit'>
  authorizer: Authorizer
}): Router {
  const router = Router({ caseSensitive: true })
  router
    .route('/audit')
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'audit', 'read'))
      const view = ({ workspace: _workspace, ...entry }: AuditEntry) => entry
      res.json(await page({ req, collection: collections.audit, filter, view, newestFirst: true }))
    })
    .all(methodNotAllowed('GET'))
  return router
}
