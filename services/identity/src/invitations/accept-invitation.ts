import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import { label, newPassword, userView } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { authBody } from '../requests.ts'
import { giveRole } from '../roles/find-role.ts'
import { startSession, type TokenDependencies } from '../sessions/tokens.ts'
import { audit } from '../store/audit.ts'
import { tokenHash } from '../store/session.ts'
import { newAccount, refusingTakenEmail } from '../users/create-user.ts'

/** What accepting takes; a password has at least `min` characters. */
export const acceptance = (min: number) =>
  z.strictObject({
    token: z.string(),
    name: label,
    phone: z.string().nullish(),
    password: newPassword(min),
  })

/** `POST /api/auth/accept-invitation`: makes the invited user, once, and logs them in. */
export function acceptInvitationRoute(dependencies: Administration & TokenDependencies): Router {
  const { connection, models, passwords } = dependencies
  const body = acceptance(dependencies.minPasswordLength)
  const router = Router({ caseSensitive: true })
  router.post('/api/auth/accept-invitation', authBody(), async (req, res) => {
    const { token, name, phone, password } = parse(body, req.body)
    const invitation = await models.invitations.findOne({ hash: tokenHash(token) }).lean()
    if (invitation === null || invitation.expiresAt.getTime() <= Date.now())
      throw new Problem('invalid_invitation')
    const { email, role, workspace } = invitation
    const stored = await passwords.hash(password)
    const account = await newAccount(models, { name, email, phone: phone ?? '', workspace, role }, stored)
    await refusingTakenEmail(() =>
      inTransaction(connection, async (transaction) => {
        const options = { session: transaction }
        const { deletedCount } = await models.invitations.deleteOne({ _id: invitation._id }, options)
        if (deletedCount === 0) throw new Problem('invalid_invitation')
        await giveRole(models, transaction, role)
        await models.accounts.insertOne(account, options)
        const who = { workspace: { _id: workspace }, account: { _id: account._id } }
        const details = { invitation: invitation._id, invitedBy: invitation.account, role }
        const act = { action: 'accept', resource: 'invitations', document: invitation._id, details }
        await audit(models, transaction, who, act)
      }),
    )
    const started = await startSession(dependencies, account._id)
    res.set('cache-control', 'no-store').json({ ...userView(account), ...started })
  })
  return router
}
