import { decide } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { type Collections, ID_ONLY } from '../store/collections.ts'
import type { Role } from '../store/role.ts'

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

/** Whether whoever has this role may write all users and roles, for its version. */
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
