import { unescapeKeys } from '@parley/shared/safe-keys'
import type { Account } from '../store/account.ts'

/** A user as those see it who administer the workspace. */
export function userView(account: Account) {
  const { _id, provider, username, name, phone, profile, workspace, role } = account
  const { createdAt, updatedAt, context } = account
  return {
    ...{ _id, provider, username, name, phone, profile, workspace, role, createdAt, updatedAt },
    context: unescapeKeys(context),
  }
}
