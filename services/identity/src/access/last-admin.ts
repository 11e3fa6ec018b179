import { decide } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { ClientSession } from 'mongoose'
import type { Models } from '../store/models.ts'
import type { Role } from '../store/role.ts'

/**
 * Throws `last_admin` when, as `transaction` sees it, nobody in the workspace may write all users and roles.
 * Two of these at the same time conflict, so that neither relies on the admin whom the other takes away.
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
