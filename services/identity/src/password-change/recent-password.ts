import type { Caller } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import type { Request } from 'express'
import type { mongo } from 'mongoose'
import { usernameKey } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { noteIssued, type ProvenAccount } from '../store/account.ts'
import { type Collections, ID_ONLY } from '../store/collections.ts'
import { hasEnded } from '../store/session.ts'
import { slowDownGuessing } from '../throttles.ts'

/** For so long after a login nobody is asked for their password again. */
const RECENT_MS = 10 * 60_000

type Dependencies = Pick<Administration, 'collections' | 'passwords' | 'throttles'>

/** The caller's account. Throws `invalid_credentials` unless `password` is its own; slowed down as a login is. */
export async function requireCurrentPassword(
  { collections, passwords, throttles }: Dependencies,
  { req, caller, password }: { req: Request; caller: Caller; password: string },
): Promise<Required<ProvenAccount>> {
  const key = usernameKey(caller.account.username)
  await slowDownGuessing(throttles, req, key)
  const account = await collections.accounts.findOne({ _id: caller.account._id })
  if (!(await passwords.verify(password, account ?? undefined, [caller.workspace._id])) || account === null)
    throw new Problem('invalid_credentials')
  await throttles.account.forgive(key)
  return { _id: account._id, passwordHash: account.passwordHash }
}

/** The caller's account. Throws `password_required` unless they logged in within ten minutes, or send their password. */
export async function requireRecentPassword(
  dependencies: Dependencies,
  sent: { req: Request; caller: Caller; password: string | null | undefined },
): Promise<ProvenAccount> {
  const { password, caller } = sent
  if (password != null) return requireCurrentPassword(dependencies, { ...sent, password })
  const session =
    caller.session === undefined
      ? null
      : await dependencies.collections.sessions.findOne({ _id: caller.session })
  if (session === null || Date.now() - session.createdAt.getTime() > RECENT_MS)
    throw new Problem('password_required', { detail: 'Send currentPassword, or log in again.' })
  return { _id: caller.account._id }
}

/**
 * Lets something be given in `transaction`: an API token, an invitation, a role, permissions. Throws when the password
 * with which it was asked for is the account's no more, or when the session or the token has ended: for up to 2 s the
 * gateway does not know.
 */
export async function requireStillValid(
  { accounts, sessions, apiTokens }: Pick<Collections, 'accounts' | 'sessions' | 'apiTokens'>,
  transaction: mongo.ClientSession,
  { caller, proven = { _id: caller.account._id } }: { caller: Caller; proven?: ProvenAccount },
): Promise<void> {
  const options = { session: transaction }
  const session =
    caller.session === undefined ? undefined : await sessions.findOne({ _id: caller.session }, options)
  const token =
    caller.token === undefined
      ? undefined
      : await apiTokens.findOne({ _id: caller.token }, { ...ID_ONLY, ...options })
  if (token === null || session === null || (session !== undefined && hasEnded(session, Date.now())))
    throw new Problem('unauthenticated', { detail: 'The token has been revoked.' })
  if (!(await noteIssued(accounts, transaction, proven))) throw new Problem('invalid_credentials')
}
