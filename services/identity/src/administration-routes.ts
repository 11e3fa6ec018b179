import { jsonBody } from '@parley/shared/json-body'
import { Router } from 'express'
import type { Administration } from './administration.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { invitationRoutes } from './invitations/invitation-routes.ts'
import { roleRoutes } from './roles/role-routes.ts'
import { userRoutes } from './users/user-routes.ts'
import { workspaceRoutes } from './workspaces/workspace-routes.ts'

const REST_BODY_BYTES = 4 * 1024 * 1024

/** All that lies below `/rest` here. */
export function administrationRoutes(administration: Administration): Router {
  const body = jsonBody({
    maxBytes: REST_BODY_BYTES,
    types: ['application/json', 'application/merge-patch+json'],
  })
  const router = Router({ caseSensitive: true })
  router.use(userRoutes(administration, body), roleRoutes(administration, body))
  router.use(workspaceRoutes(administration, body), invitationRoutes(administration, body))
  router.use(auditRoutes(administration))
  return router
}
