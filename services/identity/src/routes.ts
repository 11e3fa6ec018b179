import type { AuditReports } from '@parley/shared/audit-acts'
import type { InternalVerifier } from '@parley/shared/internal-token'
import type { Route } from '@parley/shared/openapi/route'
import { meRoute } from './accounts/me.ts'
import type { Administration } from './administration.ts'
import { apiTokenRoutes } from './api-tokens/api-token-routes.ts'
import { auditRoute } from './audit/audit-route.ts'
import { acceptInvitation, invitationRoutes } from './invitations/invitation-routes.ts'
import { changeOwnRoute } from './own-account/change-own.ts'
import { colleaguesRoute } from './own-account/colleagues.ts'
import { endOwnSessionsRoute, ownSessionsRoute } from './own-account/own-sessions.ts'
import { changePasswordRoute } from './password-change/change-password.ts'
import type { LinkMails } from './password-links/link-mails.ts'
import { passwordLinkRoutes } from './password-links/password-link-routes.ts'
import { registerRoute } from './registration/register.ts'
import { roleRoutes } from './roles/role-routes.ts'
import { loginRoute } from './sessions/login.ts'
import { logoutRoute } from './sessions/logout.ts'
import { refreshRoute } from './sessions/refresh.ts'
import { jwksRoute, type KeyRing } from './signing-keys/key-ring.ts'
import { teamRoutes } from './teams/team-routes.ts'
import { userRoutes } from './users/user-routes.ts'
import { workspaceRoutes } from './workspaces/workspace-routes.ts'

/** The dependencies of all routes together. */
export interface IdentityDependencies extends Administration {
  keyRing: KeyRing
  verifier: InternalVerifier
  reports: Pick<AuditReports, 'report'>
  baseDomain: string
  simulatorUrl: string | undefined
  /** None where this installation sends no mail. */
  linkMails: LinkMails | undefined
}

/** Every public operation of this service. */
export const routes: readonly Route<IdentityDependencies>[] = [
  ...[registerRoute, loginRoute, refreshRoute, acceptInvitation, meRoute, changePasswordRoute],
  ...[changeOwnRoute, colleaguesRoute, ownSessionsRoute, endOwnSessionsRoute],
  ...[logoutRoute, jwksRoute],
  ...apiTokenRoutes,
  ...userRoutes,
  ...invitationRoutes,
  ...passwordLinkRoutes,
  ...roleRoutes,
  ...teamRoutes,
  ...workspaceRoutes,
  auditRoute,
]
