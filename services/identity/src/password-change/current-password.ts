import type { Caller } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import type { Request } from 'express'
import { usernameKey } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import type { Account } from '../store/account.ts'
import { slowDownGuessing } from '../throttles.ts'

/** For so long after a login nobody is asked for their password again. */
const RECENT_MS = 10 * 60_000

type Dependencies = Pick<Administration, 'models' | 'passwords' | 'throttles'>

/** The caller's account. Throws `invalid_credentials` unless `password` is its own; slowed down as a login is. */
export async function requireCurrentPassword(
  { models, passwords, throttles }: Dependencies,
  { req, caller, password }: { req: Request; caller: Caller; password: string },
): Promise<Account> {
  const key = usernameKey(caller.account.username)
  await slowDownGuessing(throttles, req, key)
  const account = await models.accounts.findById(caller.account._id).lean()
  if (!(await passwords.verify(password, account ?? undefined)) || account === null)
    throw new Problem('invalid_credentials')
  await throttles.account.forgive(key)
  return account
}

/** Throws `password_required` unless the caller logged in within the last ten minutes, or sends their password. */
export async function requireRecentPassword(
  dependencies: Dependencies,
  sent: { req: Request; caller: Caller; password: string | null | undefined },
): Promise<void> {
  const { password, caller } = sent
  if (password != null) return void (await requireCurrentPassword(dependencies, { ...sent, password }))
  const session =
    caller.session === undefined ? null : await dependencies.models.sessions.findById(caller.session).lean()
  if (session === null || Date.now() - session.createdAt.getTime() > RECENT_MS)
    throw new Problem('password_required', { detail: 'Send currentPassword, or log in again.' })
}
