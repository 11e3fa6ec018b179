import type { Caller } from '@parley/shared/internal-token'
import { covers } from '@parley/shared/permission/covers'
import { allows, decide } from '@parley/shared/permission/decide'
import type { PermissionEntry } from '@parley/shared/permission/entry'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { type Collections, ID_ONLY } from '../store/collections.ts'
import { type Role, roleVersionId } from '../store/role.ts'
import type { Authorizing } from './authorizer.ts'

type RoleCollections = Pick<Collections, 'roles' | 'roleVersions'>

/** The fields of an account that rules see; of an account still to be made, the known ones. */
type Seen = Partial<Caller['account']>

/**
 * Throws `forbidden` when the caller may not assign this role to `account`: their own anyone may who has what it grants that
 * account, any other only who may write it and has all that it has. Otherwise whoever may make tokens or users could
 * make themselves an admin.
 */
export async function requireMayGive(
  { collections, authorizer }: Authorizing & { collections: RoleCollections },
  caller: Caller,
  role: Role,
  account: Seen,
): Promise<void> {
  if (role._id === caller.role._id) return requireMayGiveOwn(collections, caller, account)
  const decision = await authorizer.decide(caller, 'roles', 'write')
  if (!allows(decision, role))
    throw new Problem('forbidden', {
      detail: 'Only who may write roles may give another role than their own.',
    })
  const own = await permissionsOf(collections, caller)
  // For one's own account, as by a token of it, an entry that looks at who has it may mean what it means anyway.
  const grantee = account._id === caller.account._id ? { ...account, workspace: caller.workspace } : undefined
  if (!covers(own, role.permissions, grantee)) throw grantsMore()
}

/** Throws `forbidden` when these permissions grant something that the caller does not have. */
export async function requirePermissions(
  collections: RoleCollections,
  caller: Caller,
  permissions: readonly PermissionEntry[],
): Promise<void> {
  if (!covers(await permissionsOf(collections, caller), permissions)) throw grantsMore()
}

const grantsMore = () => new Problem('forbidden', { detail: 'Nobody grants more than they hold.' })

/**
 * Throws `forbidden` when `account` has something by this role that the caller does not have. Of another role than the
 * caller's everything counts that it could give; one's own account anyone may manage.
 */
export async function requireMayManage(
  collections: RoleCollections,
  caller: Caller,
  role: number,
  account: Seen = caller.account,
): Promise<void> {
  if (!(await isCovered(collections, caller, role, account)))
    throw new Problem('forbidden', { detail: 'Nobody manages somebody who holds more than they do.' })
}

async function isCovered(
  collections: RoleCollections,
  caller: Caller,
  role: number,
  account: Seen,
): Promise<boolean> {
  if (role === caller.role._id)
    return account._id === caller.account._id || ownIsCovered(collections, caller, account)
  const managed = await collections.roles.findOne({ _id: role })
  return managed === null || covers(await permissionsOf(collections, caller), managed.permissions)
}

/**
 * Throws `forbidden` when the caller's own role grants `account` what the caller does not have: its rules may go by the
 * context or the name.
 */
export async function requireMayGiveOwn(
  collections: RoleCollections,
  caller: Caller,
  account: Seen,
): Promise<void> {
  if (!(await ownIsCovered(collections, caller, account)))
    throw new Problem('forbidden', {
      detail: 'With its name and context, the account would hold more by the role than the caller does.',
    })
}

async function ownIsCovered(collections: RoleCollections, caller: Caller, account: Seen): Promise<boolean> {
  const own = await permissionsOf(collections, caller)
  const { workspace, role } = own.account
  return covers(own, own.permissions, { ...account, workspace, role })
}

/** Returns the permissions of the caller, by the very version of the role that the gateway named. */
async function permissionsOf({ roleVersions }: RoleCollections, { account, workspace, role }: Caller) {
  const found = await roleVersions.findOne({ _id: roleVersionId(role._id, role.version) })
  if (found === null) throw new Problem('forbidden', { detail: 'The role no longer exists.' })
  const named = { _id: role._id, name: role.name }
  return { permissions: found.permissions, account: { ...account, workspace, role: named } }
}

/**
 * Throws `last_admin` when, as `transaction` sees it, nobody in the workspace may write all users and roles.
 * Two of these at the same time conflict, so that neither relies on the admin whom the other removes.
 */
export async function requireAdminLeft(
  { accounts, roles, workspaces }: Pick<Collections, 'accounts' | 'roles' | 'workspaces'>,
  transaction: mongo.ClientSession,
  workspace: number,
): Promise<void> {
  const options = { session: transaction }
  const isGiven = async (ids: number[]) =>
    (await accounts.findOne({ workspace, role: { $in: ids } }, { ...ID_ONLY, ...options })) !== null
  await workspaces.updateOne({ _id: workspace }, { $inc: { adminChecks: 1 } }, options)
  const unchecked = { $expr: { $ne: ['$adminCheck.version', '$version'] } }
  // Permissions may be large, so only those are read that have to be, one role's at a time.
  const found = await roles
    .find({ workspace, $or: [{ 'adminCheck.isAdmin': true }, unchecked] }, options)
    .project<Pick<Role, '_id' | 'version' | 'adminCheck'>>({ version: 1, adminCheck: 1 })
    .toArray()
  const isChecked = ({ version, adminCheck }: (typeof found)[number]) => adminCheck?.version === version
  if (await isGiven(found.filter(isChecked).map(({ _id }) => _id))) return
  for (const { _id } of found.filter((role) => !isChecked(role))) {
    const role = (await isGiven([_id])) ? await roles.findOne({ _id }, options) : null
    if (role !== null && adminCheckOf(role).isAdmin) return
  }
  throw new Problem('last_admin')
}

/** Checks if holders of this role may write all users and roles, and returns that with the role's version. */
export function adminCheckOf({
  permissions,
  workspace,
  _id,
  name,
  version,
}: Omit<Role, 'adminCheck'>): Required<Role>['adminCheck'] {
  const account = { workspace: { _id: workspace }, role: { _id, name } }
  const isAdmin = ['users', 'roles'].every(
    (resource) => decide({ permissions, resource, account, access: 'write' }).kind === 'all',
  )
  return { version, isAdmin }
}
