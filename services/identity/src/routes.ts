import type { InternalVerifier } from '@parley/shared/internal-token'
import { requireCaller } from '@parley/shared/service-app'
import type { Express } from 'express'
import { meRoute } from './accounts/me.ts'
import type { Administration } from './administration.ts'
import { administrationRoutes } from './administration-routes.ts'
import { apiTokenRoutes } from './api-tokens/api-token-routes.ts'
import { authBody } from './auth-body.ts'
import { changesRoute } from './changes/changes-since.ts'
import { introspectRoute } from './introspection/introspect.ts'
import { acceptInvitationRoute } from './invitations/accept-invitation.ts'
import { changePasswordRoute } from './password-change/change-password.ts'
import { registerRoute } from './registration/register.ts'
import { roleVersionRoute } from './roles/role-version.ts'
import { loginRoute } from './sessions/login.ts'
import { logoutRoute } from './sessions/logout.ts'
import { refreshRoute } from './sessions/refresh.ts'
import { jwksRoute } from './signing-keys/jwks.ts'
import type { KeyRing } from './signing-keys/key-ring.ts'
import { slowDownByAddress } from './throttle/throttles.ts'
import { workspaceBySlugRoute } from './workspaces/by-slug.ts'

/** What the routes of this service need. */
export interface IdentityDependencies extends Administration {
  keyRing: KeyRing
  verifier: InternalVerifier
  baseDomain: string
}

/** All routes: for everybody, for callers whom the gateway has verified, and for services. */
export function mountRoutes(app: Express, dependencies: IdentityDependencies): void {
  const { verifier, throttles } = dependencies
  app.use(['/api/auth/register', '/api/auth/refresh'], slowDownByAddress(throttles))
  app.use(registerRoute(dependencies), loginRoute(dependencies), refreshRoute(dependencies))
  app.use(logoutRoute(dependencies), acceptInvitationRoute(dependencies), jwksRoute(dependencies))

  app.use(['/api/auth/me', '/api/auth/tokens', '/api/auth/password', '/rest'], requireCaller(verifier))
  app.use(meRoute(dependencies), changePasswordRoute(dependencies))
  app.use(apiTokenRoutes(dependencies, authBody()))
  app.use('/rest', administrationRoutes(dependencies))

  app.use(introspectRoute(dependencies), changesRoute(dependencies))
  app.use(roleVersionRoute(dependencies), workspaceBySlugRoute(dependencies))
}
