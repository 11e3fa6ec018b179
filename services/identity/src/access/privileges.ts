import type { Caller } from '@parley/shared/internal-token'
import { covers } from '@parley/shared/permission/covers'
import { decide, type PermissionEntry } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { ClientSession } from 'mongoose'
import type { Models } from '../store/models.ts'
import { type Role, roleVersionId } from '../store/role.ts'
import { type Authorizing, selects } from './authorizer.ts'

type RoleModels = Pick<Models, 'roles' | 'roleVersions'>

/**
 * Throws `forbidden` when the caller may not assign this role: their own anyone may, any other only who may write
 * it and has all that it has. Otherwise whoever may make tokens or users could make themselves an admin.
 */
export async function requireMayGive(
  { models, authorizer }: Authorizing & { models: RoleModels },
  caller: Caller,
  role: Role,
): Promise<void> {
  if (role._id === caller.role._id) return
  const decision = await authorizer.decide(caller, 'roles', 'write')
  if (!selects(decision, role))
    throw new Problem('forbidden', {
      detail: 'Only who may write roles may give another role than their own.',
    })
  await requirePermissions(models, caller, role.permissions)
}

/** Throws `forbidden` when these permissions grant something that the caller does not have. */
export async function requirePermissions(
  models: RoleModels,
  caller: Caller,
  permissions: readonly PermissionEntry[],
): Promise<void> {
  if (!covers(await permissionsOf(models, caller), permissions))
    throw new Problem('forbidden', { detail: 'Nobody grants more than they hold.' })
}

/** Throws `forbidden` when whoever has this role has something that the caller does not have. */
export async function requireMayManage(models: RoleModels, caller: Caller, role: number): Promise<void> {
  if (role === caller.role._id) return
  const managed = await models.roles.findById(role).lean()
  if (managed !== null && !covers(await permissionsOf(models, caller), managed.permissions))
    throw new Problem('forbidden', { detail: 'Nobody manages somebody who holds more than they do.' })
}

/** What the caller may, by the very version of the role that the gateway named. */
async function permissionsOf({ roleVersions }: RoleModels, { account, workspace, role }: Caller) {
  const found = await roleVersions.findById(roleVersionId(role._id, role.version)).lean()
  if (found === null) throw new Problem('forbidden', { detail: 'The role no longer exists.' })
  const named = { _id: role._id, name: role.name }
  return { permissions: found.permissions, account: { ...account, workspace, role: named } }
}

/**
 * Throws `last_admin` when, as `transaction` sees it, nobody in the workspace may write all users and roles.
 * Two of these at the same time conflict, so that neither relies on the admin whom the other removes.
 */
export async function requireAdminLeft(
  models: Pick<Models, 'accounts' | 'roles' | 'workspaces'>,
  transaction: ClientSession,
  workspace: number,
): Promise<void> {
  const options = { session: transaction }
  await models.workspaces.updateOne({ _id: workspace }, { $inc: { adminChecks: 1 } }, options)
  const roles = await models.roles.find({ workspace }, null, options).lean()
  const adminRoles = roles.filter(isAdminRole).map(({ _id }) => _id)
  const admin = await models.accounts.exists({ workspace, role: { $in: adminRoles } }).session(transaction)
  if (admin === null) throw new Problem('last_admin')
}

function isAdminRole({ permissions, workspace, _id, name }: Role): boolean {
  const account = { workspace: { _id: workspace }, role: { _id, name } }
  return ['users', 'roles'].every(
    (resource) => decide({ permissions, resource, account, access: 'write' }).kind === 'all',
  )
}
