import { defined } from '@parley/shared/defined'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { acceptedLanguage } from '@parley/shared/problem-texts'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { findWritable, requireFound, requireSelected } from '../access/authorizer.ts'
import { seenByRules } from '../access/caller-of-today.ts'
import { requireMayStillMake } from '../access/maker-of-today.ts'
import { requireMayManage } from '../access/privileges.ts'
import { emailAddress, newPassword, usernameKey } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { requireStillValid } from '../password-change/recent-password.ts'
import { AT, AUTH_BODY_BYTES, EXAMPLE_PASSWORD, id, NO_STORE, time } from '../schemas.ts'
import { endGiven, revokeSessions } from '../sessions/revoke.ts'
import { actorOf, audit, originOf } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import { newPasswordLink, type PasswordLink, storePasswordLink } from '../store/password-link.ts'
import { tokenHash } from '../store/session.ts'
import { addressOf, slowDownGuessing } from '../throttles.ts'
import type { LinkMails } from './link-mails.ts'

/** Whoever made it hands it over by themselves. */
const HANDED_OVER_MS = 86_400_000
const FORGOT_PATH = '/api/auth/forgot-password'
const EXAMPLE_SECRET = 'c2VjcmV0LW9mLXRoZS1saW5r'

/** The response is the only one that contains the secret; the link of before ends. */
const makePasswordLink = route({
  method: 'POST',
  path: '/rest/users/{id}/password-link',
  access: 'write',
  resource: 'users',
  id: 'makePasswordLink',
  tag: 'administration',
  summary: 'Make a link for a new password',
  description:
    'For somebody else, to hand over. The token in the answer sets a new password, once, within 24 hours, as long as whoever ' +
    'made it may manage the user. It ends when they are removed, or change their password without keeping their API tokens; ' +
    'with the API token that it was made with; with a newer link, and with another new password of the user.',
  parameters: [idParameter()],
  response: {
    schema: z
      .object({ _id: id, expiresAt: time, token: z.string().describe('Returned once, here') })
      .meta({ id: 'PasswordLink', description: 'Of the user with this id' }),
    example: { _id: 2, expiresAt: AT, token: EXAMPLE_SECRET },
    headers: NO_STORE,
  },
  errors: ['invalid_id', 'not_found', 'precondition_failed'],
  handle: (administration: Administration) => async (req, res) => {
    const { connection, collections, authorizer } = administration
    const caller = actorOf(res)
    const collection = collections.accounts
    const lookup = { authorizer, caller, resource: 'users', collection, id: pathId(req.params) }
    const { document: user } = await findWritable(lookup)
    // Whoever has a session has not shown that they know the password.
    if (user._id === caller.account._id)
      throw new Problem('forbidden', { detail: 'One’s own password is changed by who knows it.' })
    await requireMayManage(collections, caller, user.role, seenByRules(user))
    const made = { maker: caller.account._id, ...defined({ token: caller.token }) }
    const { link, secret } = newPasswordLink(user._id, HANDED_OVER_MS, made)
    await inTransaction(connection, async (transaction) => {
      await requireStillValid(collections, transaction, { caller })
      requireFound(Number(await storePasswordLink(collections, transaction, { link, account: user })))
      const act = { action: 'make-password-link', resource: 'users', document: user._id, details: {} }
      await audit(collections, transaction, caller, act)
    })
    const { _id, expiresAt } = link
    res.set('cache-control', 'no-store').json({ _id, expiresAt, token: secret })
  },
})

type WithMails = Administration & { linkMails: LinkMails | undefined }

/** The same response in the same time whether there is such an account or not: it is looked for afterwards. */
const forgotPassword = route({
  method: 'POST',
  path: FORGOT_PATH,
  access: 'nothing',
  id: 'forgotPassword',
  tag: 'accounts',
  summary: 'Ask for a link for a new password',
  description:
    'Mails one to the address of the account, if there is one, in the language of `Accept-Language`. It works once, for 30 minutes; ' +
    'within 5 minutes after a mail there is no second one. Slowed down as a login is.',
  body: {
    schema: z.strictObject({ email: emailAddress }),
    example: { email: 'ana@example.com' },
    maxBytes: AUTH_BODY_BYTES,
  },
  response: {
    schema: z.object({ byMail: z.boolean().describe('Whether this installation sends mail at all') }),
    example: { byMail: false },
  },
  handle:
    ({ throttles, linkMails }: WithMails) =>
    async (req, res, asked) => {
      const key = usernameKey(asked.body().email)
      // Counted apart from logins, which it makes no slower.
      await slowDownGuessing(throttles, req, `forgot ${key}`)
      res.json({ byMail: linkMails !== undefined })
      const language = acceptedLanguage(req.headers['accept-language'])
      const from = { by: addressOf(req), origin: originOf(req), path: FORGOT_PATH }
      linkMails?.send({ usernameKey: key, language, ...from })
    },
})

/** A password has at least `min` characters. */
const reset = (min: number) => z.strictObject({ token: z.string(), password: newPassword(min) })

/** Sets a new password by a link. What a new password ends, ends. */
const resetPassword = route({
  method: 'POST',
  path: '/api/auth/reset-password',
  access: 'nothing',
  id: 'resetPassword',
  tag: 'accounts',
  summary: 'Set a new password by a link',
  description:
    'Once. Ends every session of the account, its API tokens, and the invitations and links that it made.',
  body: {
    schema: reset(1),
    example: { token: EXAMPLE_SECRET, password: EXAMPLE_PASSWORD },
    maxBytes: AUTH_BODY_BYTES,
  },
  response: {
    schema: z.object({ username: z.string() }),
    example: { username: 'ana@example.com' },
    headers: NO_STORE,
  },
  errors: ['invalid_password_link'],
  handle: (administration: Administration) => {
    const { connection, collections, passwords, throttles } = administration
    const body = reset(administration.minPasswordLength)
    return async (req, res) => {
      const { token, password } = parse(body, req.body)
      const link = await collections.passwordLinks.findOne({ hash: tokenHash(token) })
      if (link === null || link.expiresAt.getTime() <= Date.now()) throw new Problem('invalid_password_link')
      const stored = await passwords.hash(password, [addressOf(req)])
      const account = await inTransaction(connection, async (transaction) => {
        const found = await useLink(administration, transaction, link)
        const { _id, name, workspace } = found
        const set = { $set: { ...stored, updatedAt: new Date() } }
        await collections.accounts.updateOne({ _id }, set, { session: transaction })
        await endGiven(collections, transaction, _id)
        await revokeSessions(collections, transaction, { account: _id })
        await announce(collections.changes, transaction, { kind: 'account', key: String(_id) })
        const who = { workspace: { _id: workspace }, account: { _id, name }, ...originOf(req) }
        const details = link.maker === undefined ? { byMail: true } : { madeBy: link.maker }
        const act = { action: 'reset-password', resource: 'users', document: _id, details }
        await audit(collections, transaction, who, act)
        return found
      })
      await throttles.account.forgive(account.usernameKey)
      res.set('cache-control', 'no-store').json({ username: account.username })
    }
  },
})

/** The account of a link, which is there no more. Throws `invalid_password_link` where it may be used no longer. */
async function useLink(
  { collections, authorizer }: Administration,
  transaction: mongo.ClientSession,
  { _id, hash, maker, token }: PasswordLink,
) {
  const options = { session: transaction }
  const { deletedCount } = await collections.passwordLinks.deleteOne({ _id, hash }, options)
  const account = deletedCount === 0 ? null : await collections.accounts.findOne({ _id }, options)
  if (account === null) throw new Problem('invalid_password_link')
  if (maker !== undefined)
    await requireMayStillMake(collections, transaction, {
      made: { account: maker, ...defined({ token }) },
      otherwise: 'invalid_password_link',
      async requireMayMake(caller) {
        requireSelected(await authorizer.require(caller, 'users', 'write'), account)
        await requireMayManage(collections, caller, account.role, seenByRules(account))
      },
    })
  return account
}

/** A new password for who has forgotten theirs: by mail, or by a link that an administrator hands over. */
export const passwordLinkRoutes: readonly Route<WithMails>[] = [
  makePasswordLink,
  forgotPassword,
  resetPassword,
]
