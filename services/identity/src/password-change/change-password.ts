import type { Caller } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { type Request, Router } from 'express'
import { z } from 'zod'
import { newPassword, usernameKey } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { authBody } from '../requests.ts'
import { revokeSessions } from '../sessions/revoke.ts'
import type { Account } from '../store/account.ts'
import { audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import { slowDownGuessing } from '../throttles.ts'

/** What a change takes; a new password has at least `min` characters. */
export const passwordChange = (min: number) =>
  z.strictObject({
    currentPassword: z.string(),
    newPassword: newPassword(min),
    keepApiTokens: z.boolean().nullish(),
  })

/**
 * `POST /api/auth/password`: sets a new password, and ends every other session and, unless `keepApiTokens`, every API
 * token of the account.
 */
export function changePasswordRoute(administration: Administration): Router {
  const { connection, collections, passwords } = administration
  const body = passwordChange(administration.minPasswordLength)
  const router = Router({ caseSensitive: true })
  router.post('/api/auth/password', authBody(), async (req, res) => {
    const caller = callerOf(res)
    // An API token is for programs; what it could do here would outlive its being revoked.
    if (caller.session === undefined) throw new Problem('forbidden')
    const except = caller.session
    const sent = parse(body, req.body)
    const account = await requireCurrentPassword(administration, {
      req,
      caller,
      password: sent.currentPassword,
    })
    const stored = await passwords.hash(sent.newPassword)
    await inTransaction(connection, async (transaction) => {
      const set = { $set: { ...stored, updatedAt: new Date() } }
      await collections.accounts.updateOne({ _id: account._id }, set, { session: transaction })
      if (sent.keepApiTokens !== true)
        await collections.apiTokens.deleteMany({ account: account._id }, { session: transaction })
      await revokeSessions(collections, transaction, { account: account._id, except })
      // Also of API tokens, and of an account without another session.
      await announce(collections.changes, transaction, { kind: 'account', key: String(account._id) })
      const details = { keepApiTokens: sent.keepApiTokens === true }
      const act = { action: 'change password', resource: 'users', document: account._id, details }
      await audit(collections, transaction, caller, act)
    })
    res.json({ changed: true })
  })
  return router
}

/** For so long after a login nobody is asked for their password again. */
const RECENT_MS = 10 * 60_000

type Dependencies = Pick<Administration, 'collections' | 'passwords' | 'throttles'>

/** The caller's account. Throws `invalid_credentials` unless `password` is its own; slowed down as a login is. */
async function requireCurrentPassword(
  { collections, passwords, throttles }: Dependencies,
  { req, caller, password }: { req: Request; caller: Caller; password: string },
): Promise<Account> {
  const key = usernameKey(caller.account.username)
  await slowDownGuessing(throttles, req, key)
  const account = await collections.accounts.findOne({ _id: caller.account._id })
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
    caller.session === undefined
      ? null
      : await dependencies.collections.sessions.findOne({ _id: caller.session })
  if (session === null || Date.now() - session.createdAt.getTime() > RECENT_MS)
    throw new Problem('password_required', { detail: 'Send currentPassword, or log in again.' })
}
