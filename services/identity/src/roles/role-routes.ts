import type { Route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { requireMayManage } from '../access/privileges.ts'
import type { Administration } from '../administration.ts'
import { deleteRoute, listRoute, readRoute } from '../resource-routes.ts'
import type { Collections } from '../store/collections.ts'
import type { Role } from '../store/role.ts'
import { explainRole } from './explain-role.ts'
import { roles } from './role.ts'
import { createRole, patchRole, putRole } from './save-role.ts'

/** `/rest/roles`: the roles of the caller's workspace. */
export const roleRoutes: readonly Route<Administration>[] = [
  listRoute(roles, { id: 'listRoles', summary: 'List roles' }),
  createRole,
  readRoute(roles, { id: 'readRole', summary: 'Read a role' }),
  putRole,
  patchRole,
  deleteRoute<Role>(roles, {
    id: 'deleteRole',
    summary: 'Delete a role',
    description: 'Refused while somebody or something has it.',
    errors: ['still_referenced'],
    requireMayDelete: ({ collections }, caller, { _id }) => requireMayManage(collections, caller, _id),
    asJudged: ({ version }) => ({ version }),
    along: requireUnused,
    forgets: 'role',
    details: ({ name }) => ({ name }),
  }),
  explainRole,
]

async function requireUnused(
  collections: Collections,
  transaction: mongo.ClientSession,
  { _id: role }: Role,
): Promise<void> {
  const options = { session: transaction }
  const users = await collections.accounts.countDocuments({ role }, options)
  const tokens = await collections.apiTokens.countDocuments({ role }, options)
  const invitations = await collections.invitations.countDocuments({ role }, options)
  if (users + tokens + invitations > 0)
    throw new Problem('still_referenced', { extra: { referrers: { users, tokens, invitations } } })
}
