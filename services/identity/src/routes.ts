import type { InternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import { requireCaller } from '@parley/shared/service-app'
import { type Express, Router } from 'express'
import { meRoute } from './accounts/me.ts'
import type { Administration } from './administration.ts'
import { apiTokenRoutes } from './api-tokens/create-api-token.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { changesRoute, roleVersionRoute, workspaceBySlugRoute } from './internal-routes.ts'
import { callerRoute, introspectRoute } from './introspection/introspect.ts'
import { acceptInvitationRoute, invitationRoutes } from './invitations/invitation-routes.ts'
import { changePasswordRoute } from './password-change/change-password.ts'
import { registerRoute } from './registration/register.ts'
import { authBody } from './requests.ts'
import { roleRoutes } from './roles/role-routes.ts'
import { loginRoute } from './sessions/login.ts'
import { logoutRoute } from './sessions/logout.ts'
import { refreshRoute } from './sessions/refresh.ts'
import { jwksRoute, type KeyRing } from './signing-keys/key-ring.ts'
import { slowDownByAddress } from './throttles.ts'
import { userRoutes } from './users/user-routes.ts'
import { workspaceRoutes } from './workspaces/workspace-routes.ts'

/** What the routes of this service need. */
export interface IdentityDependencies extends Administration {
  keyRing: KeyRing
  verifier: InternalVerifier
  baseDomain: string
}

/** All routes: for everybody, for callers whom the gateway has verified, and for services. */
export function mountRoutes(app: Express, dependencies: IdentityDependencies): void {
  const { verifier, throttles } = dependencies
  const forEverybody = ['/api/auth/register', '/api/auth/refresh', '/api/auth/logout']
  app.use(forEverybody, slowDownByAddress(throttles))
  app.use(registerRoute(dependencies), loginRoute(dependencies), refreshRoute(dependencies))
  app.use(logoutRoute(dependencies), acceptInvitationRoute(dependencies), jwksRoute(dependencies))

  app.use(['/api/auth/me', '/api/auth/tokens', '/api/auth/password', '/rest'], requireCaller(verifier))
  app.use(meRoute(dependencies), changePasswordRoute(dependencies))
  app.use(apiTokenRoutes(dependencies, authBody()))
  app.use('/rest', administrationRoutes(dependencies))

  app.use(introspectRoute(dependencies), callerRoute(dependencies), changesRoute(dependencies))
  app.use(roleVersionRoute(dependencies), workspaceBySlugRoute(dependencies))
}

const REST_BODY_BYTES = 4 * 1024 * 1024

/** All that lies below `/rest` here. */
function administrationRoutes(administration: Administration): Router {
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
