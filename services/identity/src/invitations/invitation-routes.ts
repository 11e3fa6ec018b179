import { randomBytes } from 'node:crypto'
import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { z } from 'zod'
import { requireSelected } from '../access/authorizer.ts'
import { seenByRules } from '../access/caller-of-today.ts'
import { requireMayStillMake } from '../access/maker-of-today.ts'
import { requireMayGive, requireMayManage } from '../access/privileges.ts'
import {
  emailAddress,
  label,
  newPassword,
  userExample,
  usernameKey,
  userSchema,
  userView,
} from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { deleteRoute, listRoute, type Resource, storeNew } from '../resource-routes.ts'
import { findRole, giveRole, roleReference } from '../roles/find-role.ts'
import { AT, AUTH_BODY_BYTES, EXAMPLE_PASSWORD, id, NO_STORE, REST_BODY_BYTES, time } from '../schemas.ts'
import {
  planSession,
  sessionTokens,
  storeSession,
  type TokenDependencies,
  tokensExample,
} from '../sessions/tokens.ts'
import { type Account, type Invitation, invitationView } from '../store/account.ts'
import { actorOf, audit, originOf } from '../store/audit.ts'
import { ID_ONLY } from '../store/collections.ts'
import { takeIds } from '../store/ids.ts'
import { tokenHash } from '../store/session.ts'
import { addressOf } from '../throttles.ts'
import { newAccount, refusingTakenEmail } from '../users/new-account.ts'

const LIFETIME_MS = 7 * 86_400_000
const SECRET_BYTES = 32

const invitation = z
  .object({ _id: id, email: z.string(), role: id, account: id, createdAt: time, expiresAt: time })
  .meta({ id: 'Invitation', description: 'A place in the workspace that waits for somebody' })
const invitationExample = {
  _id: 1,
  email: 'carla@example.com',
  role: 3,
  account: 1,
  createdAt: AT,
  expiresAt: '2026-11-27T11:36:37.235Z',
}

const invitations: Resource<Invitation> = {
  name: 'invitations',
  // An invitation is a user to be.
  ruledBy: 'users',
  path: '/rest/invitations',
  tag: 'administration',
  title: 'Invitation',
  schema: invitation,
  example: invitationExample,
  view: invitationView,
  collection: (collections) => collections.invitations,
}

/** Returns the known data of an invitee: they choose their name themselves. */
const inviteeOf = (email: string) => ({ username: email, context: {} })

/** The response is the only one that contains the secret with which the invitation is accepted. */
const invite = route({
  method: 'POST',
  path: invitations.path,
  access: 'write',
  resource: 'users',
  id: 'invite',
  tag: invitations.tag,
  summary: 'Invite somebody',
  description:
    'The token in the answer accepts it, once, within 7 days, as long as whoever made it may invite for this role. It ends ' +
    'when they are removed, or change their password without keeping their API tokens, and with the API token that it was made with.',
  body: {
    schema: z.strictObject({ email: emailAddress, role: roleReference }).meta({ id: 'InvitationBody' }),
    example: { email: 'carla@example.com', role: 'VIEWER' },
    maxBytes: REST_BODY_BYTES,
  },
  response: {
    schema: z
      .object({ ...invitation.shape, token: z.string().describe('Returned once, here') })
      .meta({ id: 'NewInvitation' }),
    example: { ...invitationExample, token: 'c2VjcmV0LW9mLXRoZS1pbnZpdGF0aW9u' },
    headers: NO_STORE,
  },
  errors: ['email_taken'],
  handle: (administration: Administration) => async (_req, res, asked) => {
    const { collections, authorizer } = administration
    const caller = actorOf(res)
    const decision = await authorizer.require(caller, 'users', 'write')
    const { email, role: reference } = asked.body()
    const role = await findRole(collections, caller, reference)
    await requireMayGive(administration, caller, role, inviteeOf(email))
    if (await collections.accounts.findOne({ usernameKey: usernameKey(email) }, ID_ONLY))
      throw new Problem('email_taken')
    const token = randomBytes(SECRET_BYTES).toString('base64url')
    const { invitations: _id } = await takeIds({
      counters: collections.counters,
      from: 'ids',
      amounts: { invitations: 1 },
    })
    const now = Date.now()
    const document = {
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
    requireSelected(decision, document)
    await storeNew(administration, invitations, {
      ...{ caller, document, details: { email, role: role._id } },
      along: (transaction) => giveRole(collections, transaction, role._id),
    })
    res.set('cache-control', 'no-store').json({ ...invitationView(document), token })
  },
})

/** `/rest/invitations`, under the rules for `users`: an invitation is a user to be. */
export const invitationRoutes: readonly Route<Administration>[] = [
  listRoute(invitations, { id: 'listInvitations', summary: 'List invitations' }),
  invite,
  deleteRoute(invitations, {
    id: 'withdrawInvitation',
    summary: 'Withdraw an invitation',
    requireMayDelete: ({ collections }, caller, { role, email }) =>
      requireMayManage(collections, caller, role, inviteeOf(email)),
    details: ({ email, role }) => ({ email, role }),
  }),
]

/** A password has at least `min` characters. */
const acceptance = (min: number) =>
  z.strictObject({
    token: z.string(),
    name: label,
    phone: label.nullish(),
    password: newPassword(min),
  })

/** Makes the invited user, once, and logs them in. */
export const acceptInvitation = route({
  method: 'POST',
  path: '/api/auth/accept-invitation',
  access: 'nothing',
  id: 'acceptInvitation',
  tag: 'accounts',
  summary: 'Accept an invitation',
  description: 'Refused when whoever invited may not invite for this role any more.',
  body: {
    schema: acceptance(1),
    example: { token: 'c2VjcmV0LW9mLXRoZS1pbnZpdGF0aW9u', name: 'Bruno Lima', password: EXAMPLE_PASSWORD },
    maxBytes: AUTH_BODY_BYTES,
  },
  response: {
    schema: z
      .object({ ...userSchema.shape, ...sessionTokens.shape, refreshToken: z.string() })
      .meta({ id: 'AcceptedInvitation' }),
    example: { ...userExample, ...tokensExample },
    headers: NO_STORE,
  },
  errors: ['invalid_invitation', 'email_taken'],
  handle: (dependencies: Administration & TokenDependencies) => {
    const { connection, collections, passwords } = dependencies
    const body = acceptance(dependencies.minPasswordLength)
    return async (req, res) => {
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
          await requireMayStillMake(collections, transaction, {
            made: invitation,
            otherwise: 'invalid_invitation',
            requireMayMake: (caller) =>
              requireMayInvite(dependencies, caller, { invitation, invited: account }),
          })
          await collections.accounts.insertOne(account, options)
          await storeSession(collections, transaction, planned)
          const who = { workspace: { _id: workspace }, account, ...originOf(req) }
          const details = { invitation: invitation._id, invitedBy: invitation.account, role }
          const act = { action: 'accept', resource: 'invitations', document: invitation._id, details }
          await audit(collections, transaction, who, act)
        }),
      )
      res.set('cache-control', 'no-store').json({ ...userView(account), ...planned.tokens })
    }
  },
})

/** Throws `forbidden` unless the caller may make the invitation for the account that it makes. */
async function requireMayInvite(
  { collections, authorizer }: Pick<Administration, 'collections' | 'authorizer'>,
  caller: Caller,
  { invitation, invited }: { invitation: Invitation; invited: Account },
): Promise<void> {
  requireSelected(await authorizer.require(caller, 'users', 'write'), invitation)
  const role = await collections.roles.findOne({ _id: invitation.role })
  if (role === null) throw new Problem('forbidden')
  await requireMayGive({ collections, authorizer }, caller, role, seenByRules(invited))
}
