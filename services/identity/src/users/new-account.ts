import { isDuplicate } from '@parley/shared/insert-new'
import { Problem } from '@parley/shared/problem'
import { usernameKey } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import type { StoredPassword } from '../passwords/passwords.ts'
import type { Account } from '../store/account.ts'
import { takeIds } from '../store/ids.ts'

/** The document of a new account, with ids of its own. */
export async function newAccount(
  collections: Administration['collections'],
  user: { name: string; email: string; phone: string; workspace: number; role: number },
  password: StoredPassword,
): Promise<Account> {
  const amounts = { accounts: 1, profiles: 1 }
  const ids = await takeIds({ counters: collections.counters, from: 'ids', amounts })
  const { email, ...fields } = user
  const now = new Date()
  return {
    _id: ids.accounts,
    provider: 'local',
    username: email,
    usernameKey: usernameKey(email),
    ...password,
    ...fields,
    profile: ids.profiles,
    context: {},
    createdAt: now,
    updatedAt: now,
  }
}

/** Runs `store`, and turns its clash over a user name into `email_taken`. */
export async function refusingTakenEmail(store: () => Promise<void>): Promise<void> {
  try {
    await store()
  } catch (error) {
    throw isDuplicate(error, 'usernameKey') ? new Problem('email_taken') : error
  }
}
