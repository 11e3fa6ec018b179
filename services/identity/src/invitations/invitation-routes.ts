import { randomBytes } from 'node:crypto'
import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { type RequestHandler, Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { findWritable, requireFound, requireSelected, scopeOf } from '../access/authorizer.ts'
import { callerOfAccount, roleOfToday, seenByRules } from '../access/caller-of-today.ts'
import { requireMayGive, requireMayManage } from '../access/privileges.ts'
import { emailAddress, label, newPassword, usernameKey, userView } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { requireStillValid } from '../password-change/recent-password.ts'
import { authBody, page, pathId } from '../requests.ts'
import { findRole, giveRole, roleReference } from '../roles/find-role.ts'
import { planSession, storeSession, type TokenDependencies } from '../sessions/tokens.ts'
import { type Account, type Invitation, invitationView, noteIssued } from '../store/account.ts'
import { audit } from '../store/audit.ts'
import { ID_ONLY } from '../store/collections.ts'
import { takeIds } from '../store/ids.ts'
import { tokenHash } from '../store/session.ts'
import { addressOf } from '../throttles.ts'
import { newAccount, refusingTakenEmail } from '../users/create-user.ts'

const LIFETIME_MS = 7 * 86_400_000
const SECRET_BYTES = 32
/** What an invitation takes. */
export const newInvitation = z.strictObject({ email: emailAddress, role: roleReference })

/** `/rest/invitations`, under the rules for `users`: an invitation is a user to be. */
export function invitationRoutes(administration: Administration, body: RequestHandler): Router {
  const { collections, authorizer } = administration
  const router = Router({ caseSensitive: true })
  router
    .route('/invitations')
    .post(body, invite(administration))
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'users', 'read'))
      res.json(await page({ req, collection: collections.invitations, filter, view: invitationView }))
    })
    .all(methodNotAllowed('GET', 'POST'))
  router.route('/invitations/:id').delete(withdraw(administration)).all(methodNotAllowed('DELETE'))
  return router
}

/** What is known of who is invited: they choose their name themselves. */
const inviteeOf = (email: string) => ({ username: email, context: {} })

/** The response is the only one that contains the secret with which the invitation is accepted. */
function invite({ connection, collections, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const decision = await authorizer.require(caller, 'users', 'write')
    const { email, role: reference } = parse(newInvitation, req.body)
    const role = await findRole(collections, caller, reference)
    await requireMayGive({ collections, authorizer }, caller, role, inviteeOf(email))
    if (await collections.accounts.findOne({ usernameKey: usernameKey(email) }, ID_ONLY))
      throw new Problem('email_taken')
    const token = randomBytes(SECRET_BYTES).toString('base64url')
    const { invitations: _id } = await takeIds({
      counters: collections.counters,
      from: 'ids',
      amounts: { invitations: 1 },
    })
    const now = Date.now()
    const invitation = {
      _id,
      workspace: caller.workspace._id,
      email,
      role: role._id,
      account: caller.account._id,
      ...defined({ token: caller.token }),
      hash: tokenHash(token),
      createdAt: new Date(now),
      expiresAt: new Date(now + LIFETIME_MS),
    }
    requireSelected(decision, invitation)
    await inTransaction(connection, async (transaction) => {
      await requireStillValid(collections, transaction, { caller })
      await giveRole(collections, transaction, role._id)
      await collections.invitations.insertOne(invitation, { session: transaction })
      const details = { email, role: role._id }
      const act = { action: 'create', resource: 'invitations', document: _id, details }
      await audit(collections, transaction, caller, act)
    })
    res.set('cache-control', 'no-store').json({ ...invitationView(invitation), token })
  }
}

function withdraw({ connection, collections, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const { document, writable } = await findWritable({
      authorizer,
      caller,
      resource: 'users',
      collection: collections.invitations,
      id: pathId(req),
    })
    await requireMayManage(collections, caller, document.role, inviteeOf(document.email))
    await inTransaction(connection, async (transaction) => {
      const { deletedCount } = await collections.invitations.deleteOne(writable, { session: transaction })
      requireFound(deletedCount)
      const details = { email: document.email, role: document.role }
      const act = { action: 'delete', resource: 'invitations', document: document._id, details }
      await audit(collections, transaction, caller, act)
    })
    res.json({ _id: document._id, deleted: true })
  }
}

/** What accepting takes; a password has at least `min` characters. */
export const acceptance = (min: number) =>
  z.strictObject({
    token: z.string(),
    name: label,
    phone: label.nullish(),
    password: newPassword(min),
  })

/**
 * `POST /api/auth/accept-invitation`: makes the invited user, once, and logs them in. Refused when whoever invited them may
 * not invite for this role any more.
 */
export function acceptInvitationRoute(dependencies: Administration & TokenDependencies): Router {
  const { connection, collections, passwords } = dependencies
  const body = acceptance(dependencies.minPasswordLength)
  const router = Router({ caseSensitive: true })
  router.post('/api/auth/accept-invitation', authBody(), async (req, res) => {
    const { token, name, phone, password } = parse(body, req.body)
    const invitation = await collections.invitations.findOne({ hash: tokenHash(token) })
    if (invitation === null || invitation.expiresAt.getTime() <= Date.now())
      throw new Problem('invalid_invitation')
    const { email, role, workspace } = invitation
    const stored = await passwords.hash(password, [addressOf(req)])
    const account = await newAccount(
      collections,
      { name, email, phone: phone ?? '', workspace, role },
      stored,
    )
    const planned = await planSession(dependencies.keyRing, account._id, req.headers['user-agent'])
    await refusingTakenEmail(() =>
      inTransaction(connection, async (transaction) => {
        const options = { session: transaction }
        const { deletedCount } = await collections.invitations.deleteOne({ _id: invitation._id }, options)
        if (deletedCount === 0) throw new Problem('invalid_invitation')
        await giveRole(collections, transaction, role)
        await requireMayStillInvite(dependencies, transaction, { invitation, invited: account })
        await collections.accounts.insertOne(account, options)
        await storeSession(collections, transaction, planned)
        const who = { workspace: { _id: workspace }, account: { _id: account._id } }
        const details = { invitation: invitation._id, invitedBy: invitation.account, role }
        const act = { action: 'accept', resource: 'invitations', document: invitation._id, details }
        await audit(collections, transaction, who, act)
      }),
    )
    res.set('cache-control', 'no-store').json({ ...userView(account), ...planned.tokens })
  })
  return router
}

/**
 * Throws `invalid_invitation` unless whoever made an invitation may make it today for the account that it makes. `transaction` writes their account
 * first, so that what is read of it stays so until the user is made.
 */
async function requireMayStillInvite(
  { collections, authorizer }: Pick<Administration, 'collections' | 'authorizer'>,
  transaction: mongo.ClientSession,
  { invitation, invited }: { invitation: Invitation; invited: Account },
): Promise<void> {
  const { account, token } = invitation
  const isThere = await noteIssued(collections.accounts, transaction, { _id: account })
  const inviter = isThere ? await callerOfAccount(collections, account) : undefined
  const withToken = token === undefined ? inviter : inviter && (await inRoleOf(collections, inviter, token))
  const role = await collections.roles.findOne({ _id: invitation.role })
  if (inviter === undefined || withToken === undefined || role === null)
    throw new Problem('invalid_invitation')
  try {
    for (const caller of new Set([inviter, withToken])) {
      requireSelected(await authorizer.require(caller, 'users', 'write'), invitation)
      await requireMayGive({ collections, authorizer }, caller, role, seenByRules(invited))
    }
  } catch (error) {
    throw error instanceof Problem && error.code === 'forbidden' ? new Problem('invalid_invitation') : error
  }
}

/** The inviter in the role of the API token that was used; undefined once that has ended. */
async function inRoleOf(
  collections: Administration['collections'],
  inviter: Caller,
  _id: number,
): Promise<Caller | undefined> {
  const token = await collections.apiTokens.findOne({ _id })
  if (token === null || (token.expiresAt !== undefined && token.expiresAt <= new Date())) return undefined
  const role = await roleOfToday(collections, token.role)
  return role && { ...inviter, role, token: _id }
}
