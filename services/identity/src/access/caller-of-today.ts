import type { Caller } from '@parley/shared/internal-token'
import { unescapeKeys } from '@parley/shared/safe-keys'
import type { Account } from '../store/account.ts'
import type { Collections } from '../store/collections.ts'

type CallerCollections = Pick<Collections, 'workspaces' | 'roles'>

/** An account as a caller in its role of today. */
export async function callerOfAccount(
  collections: CallerCollections & Pick<Collections, 'accounts'>,
  _id: number,
): Promise<Caller | undefined> {
  const account = await collections.accounts.findOne({ _id })
  return account === null ? undefined : callerFor(collections, account)
}

/** The account as services get to know it: with its workspace, and the role at today's version. */
export async function callerFor(
  collections: CallerCollections,
  account: Account,
): Promise<Caller | undefined> {
  const [workspace, role] = await Promise.all([
    collections.workspaces.findOne({ _id: account.workspace }),
    roleOfToday(collections, account.role),
  ])
  if (workspace === null || role === undefined) return undefined
  return {
    account: seenByRules(account),
    workspace: {
      _id: workspace._id,
      name: workspace.name,
      namespace: workspace.namespace,
      host: workspace.host,
    },
    role,
  }
}

/** Returns the fields of an account that rules see. */
export function seenByRules({ _id, username, name, profile, context }: Account): Caller['account'] {
  return { _id, username, name, profile, context: unescapeKeys(context) }
}

/** A role by its name and version of today; its permissions may be large. */
export async function roleOfToday(
  { roles }: Pick<Collections, 'roles'>,
  _id: number,
): Promise<Caller['role'] | undefined> {
  const found = await roles.findOne({ _id }, { projection: { name: 1, version: 1 } })
  return found === null ? undefined : { _id, name: found.name, version: found.version }
}
