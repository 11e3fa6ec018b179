import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { z } from 'zod'
import { newPassword } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { AUTH_BODY_BYTES, EXAMPLE_PASSWORD } from '../schemas.ts'
import { endGiven, revokeSessions } from '../sessions/revoke.ts'
import { actorOf, audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import { requireCurrentPassword } from './recent-password.ts'

/** A new password has at least `min` characters. */
const passwordChange = (min: number) =>
  z.strictObject({
    currentPassword: z.string(),
    newPassword: newPassword(min),
    keepApiTokens: z.boolean().nullish(),
  })

export const changePasswordRoute = route({
  method: 'POST',
  path: '/api/auth/password',
  access: 'token',
  id: 'changePassword',
  tag: 'accounts',
  summary: 'Change the password',
  description:
    'Ends every other session of the account, and its API tokens, and the invitations and password links that it made, unless ' +
    '`keepApiTokens` is true. An API token may not.',
  body: {
    schema: passwordChange(1),
    example: { currentPassword: EXAMPLE_PASSWORD, newPassword: 'paper staple' },
    maxBytes: AUTH_BODY_BYTES,
  },
  response: { schema: z.object({ changed: z.literal(true) }), example: { changed: true } },
  errors: ['invalid_credentials'],
  handle: (administration: Administration) => {
    const { connection, collections, passwords } = administration
    const body = passwordChange(administration.minPasswordLength)
    return async (req, res) => {
      const caller = actorOf(res)
      // An API token is for programs; what it could do here would outlive its being revoked.
      if (caller.session === undefined) throw new Problem('forbidden')
      const except = caller.session
      const sent = parse(body, req.body)
      const account = await requireCurrentPassword(administration, {
        req,
        caller,
        password: sent.currentPassword,
      })
      const stored = await passwords.hash(sent.newPassword, [caller.workspace._id])
      await inTransaction(connection, async (transaction) => {
        const set = { $set: { ...stored, updatedAt: new Date() } }
        const { _id, passwordHash } = account
        const unchanged = { _id, passwordHash }
        const { matchedCount } = await collections.accounts.updateOne(unchanged, set, {
          session: transaction,
        })
        // Of two changes at once the second one knew a password that is none any more.
        if (matchedCount === 0) throw new Problem('invalid_credentials')
        if (sent.keepApiTokens !== true) await endGiven(collections, transaction, account._id)
        await collections.passwordLinks.deleteOne({ _id: account._id }, { session: transaction })
        await revokeSessions(collections, transaction, { account: account._id, except })
        // Also of API tokens, and of an account without another session.
        await announce(collections.changes, transaction, { kind: 'account', key: String(account._id) })
        const details = { keepApiTokens: sent.keepApiTokens === true }
        const act = { action: 'change password', resource: 'users', document: account._id, details }
        await audit(collections, transaction, caller, act)
      })
      res.json({ changed: true })
    }
  },
})
