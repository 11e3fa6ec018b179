import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import { z } from 'zod'
import { seenByRules } from '../access/caller-of-today.ts'
import { requireMayGiveOwn } from '../access/privileges.ts'
import { currentUser, meRoute, type OfCallers } from '../accounts/me.ts'
import { label } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { requireStillValid } from '../password-change/recent-password.ts'
import { AUTH_BODY_BYTES } from '../schemas.ts'
import { type Actor, actorOf, audit, changesOf } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import { preferencesChange, type StoredPreferences } from '../store/preferences.ts'
import { withSession } from './own-sessions.ts'

/** A change of one's own account; fields that are left out stay as they are. */
const ownChange = z.strictObject({
  name: label.optional(),
  phone: label.optional(),
  preferences: preferencesChange.optional(),
})

type Dependencies = Pick<Administration, 'connection'> & OfCallers

/** The caller's own name, phone number and preferences, for who is logged in. */
export const changeOwnRoute = route({
  method: 'PATCH',
  path: '/api/auth/me',
  access: 'token',
  id: 'changeMe',
  tag: 'accounts',
  summary: 'Change one’s own name, phone number and preferences',
  description:
    'Takes no rights but a login: an API token may not. Refused where the role grants more to whoever has that name.',
  body: {
    schema: ownChange,
    example: { name: 'Ana Souza', preferences: { language: 'pt-BR', notices: { sound: true } } },
    maxBytes: AUTH_BODY_BYTES,
  },
  response: meRoute.response,
  errors: ['precondition_failed'],
  handle: (dependencies: Dependencies) => async (_req, res, asked) => {
    const { caller } = withSession(actorOf(res))
    const { preferences, ...change } = asked.body()
    if (Object.keys(change).length > 0) await changeOwn(dependencies, caller, change)
    if (preferences !== undefined) await changePreferences(dependencies, caller, preferences)
    const user = await currentUser(dependencies, caller)
    if (user === undefined) throw new Problem('unauthenticated')
    res.set('cache-control', 'no-store').json(user)
  },
})

/** Throws `forbidden` where the role's rules go by the name, and would grant the new one more. */
async function changeOwn(
  { connection, collections }: Dependencies,
  caller: Actor,
  sent: Omit<z.output<typeof ownChange>, 'preferences'>,
): Promise<void> {
  const account = await collections.accounts.findOne({ _id: caller.account._id })
  if (account === null) throw new Problem('unauthenticated')
  const { _id, name, role } = account
  const change = defined(sent)
  await requireMayGiveOwn(collections, caller, seenByRules({ ...account, ...change }))
  await inTransaction(connection, async (transaction) => {
    await requireStillValid(collections, transaction, { caller })
    const asJudged = { _id, name, role }
    const set = { $set: { ...change, updatedAt: new Date() } }
    const { matchedCount } = await collections.accounts.updateOne(asJudged, set, { session: transaction })
    if (matchedCount === 0) throw new Problem('precondition_failed')
    await announce(collections.changes, transaction, { kind: 'account', key: String(_id) })
    const act = {
      action: 'update',
      resource: 'users',
      document: _id,
      details: { fields: Object.keys(change) },
      changes: changesOf(account, change),
    }
    await audit(collections, transaction, caller, act)
  })
}

/** No right goes by them, so nothing that is remembered of the caller changes. */
async function changePreferences(
  { collections }: Dependencies,
  { account: { _id } }: Caller,
  { language, notices = {} }: StoredPreferences,
): Promise<void> {
  const set = [
    ...Object.entries(defined({ language })).map(([key, value]) => [`preferences.${key}`, value]),
    ...Object.entries(defined(notices)).map(([key, value]) => [`preferences.notices.${key}`, value]),
  ]
  if (set.length > 0) await collections.accounts.updateOne({ _id }, { $set: Object.fromEntries(set) })
}
