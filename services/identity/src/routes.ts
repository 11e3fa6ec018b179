import type { InternalVerifier } from '@parley/shared/internal-token'
import { jsonObject } from '@parley/shared/json-object'
import type { Route } from '@parley/shared/openapi/route'
import { z } from 'zod'
import { meRoute } from './accounts/me.ts'
import type { Administration } from './administration.ts'
import { apiTokenRoutes } from './api-tokens/api-token-routes.ts'
import { acceptInvitation, invitationRoutes } from './invitations/invitation-routes.ts'
import { changeOwnRoute } from './own-account/change-own.ts'
import { colleaguesRoute } from './own-account/colleagues.ts'
import { endOwnSessionsRoute, ownSessionsRoute } from './own-account/own-sessions.ts'
import { changePasswordRoute } from './password-change/change-password.ts'
import { registerRoute } from './registration/register.ts'
import { listRoute } from './resource-routes.ts'
import { roleRoutes } from './roles/role-routes.ts'
import { AT, id, time } from './schemas.ts'
import { loginRoute } from './sessions/login.ts'
import { logoutRoute } from './sessions/logout.ts'
import { refreshRoute } from './sessions/refresh.ts'
import { jwksRoute, type KeyRing } from './signing-keys/key-ring.ts'
import type { AuditEntry } from './store/audit.ts'
import { userRoutes } from './users/user-routes.ts'
import { workspaceRoutes } from './workspaces/workspace-routes.ts'

/** The dependencies of all routes together. */
export interface IdentityDependencies extends Administration {
  keyRing: KeyRing
  verifier: InternalVerifier
  baseDomain: string
  simulatorUrl: string | undefined
}

/** Every public operation of this service. */
export const routes: readonly Route<IdentityDependencies>[] = [
  ...[registerRoute, loginRoute, refreshRoute, acceptInvitation, meRoute, changePasswordRoute],
  ...[changeOwnRoute, colleaguesRoute, ownSessionsRoute, endOwnSessionsRoute],
  ...[logoutRoute, jwksRoute],
  ...apiTokenRoutes,
  ...userRoutes,
  ...invitationRoutes,
  ...roleRoutes,
  ...workspaceRoutes,
  listRoute<AuditEntry>(
    {
      name: 'audit',
      path: '/rest/audit',
      tag: 'administration',
      title: 'AuditEntry',
      schema: z
        .object({
          _id: id,
          at: time,
          account: id.describe('Who acted'),
          token: id.optional().describe('The API token that they acted with'),
          action: z.string(),
          resource: z.string(),
          document: id,
          details: jsonObject,
        })
        .meta({ id: 'AuditEntry', description: 'One administrative act' }),
      example: {
        _id: 1,
        at: AT,
        account: 1,
        action: 'create',
        resource: 'users',
        document: 2,
        details: { username: 'bruno@example.com', role: 3 },
      },
      view: ({ workspace: _workspace, ...entry }) => entry,
      collection: ({ audit }) => audit,
    },
    {
      ...{ id: 'listAuditEntries', summary: 'List what was done', description: 'The latest first.' },
      newestFirst: true,
    },
  ),
]
