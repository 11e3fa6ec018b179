import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../internal-token.ts'
import { covers } from './covers.ts'
import type { PermissionEntry } from './entry.ts'

type RoleVersion = Pick<Caller['role'], '_id' | 'version'>
type Permissions = readonly PermissionEntry[]

/** How many verdicts are remembered, of some 200 bytes each. */
const REMEMBERED = 10_000

/**
 * Decides whether a grantor, in its role's version, may grant its own account a version of a role. A version never changes, so a verdict is
 * remembered for as long as the grantor's account stays as it is. False where a version does not exist.
 */
export function createCoverage(
  permissionsOf: (role: RoleVersion) => Promise<Permissions | undefined>,
): (grantor: Caller, granted: RoleVersion) => Promise<boolean> {
  const verdicts = new LRUCache<string, boolean>({ max: REMEMBERED })
  return async (grantor, granted) => {
    const key = keyOf(grantor, granted)
    const known = verdicts.get(key)
    if (known !== undefined) return known
    const [own, given] = await Promise.all([permissionsOf(grantor.role), permissionsOf(granted)])
    if (own === undefined || given === undefined) return false
    const { account, workspace, role } = grantor
    const named = { ...account, workspace, role: { _id: role._id, name: role.name } }
    const verdict = covers({ permissions: own, account: named }, given, { ...account, workspace })
    verdicts.set(key, verdict)
    return verdict
  }
}

function keyOf({ account, workspace, role }: Caller, { _id, version }: RoleVersion): string {
  return createHash('sha256')
    .update(JSON.stringify([account, workspace, role, _id, version]))
    .digest('base64url')
}
