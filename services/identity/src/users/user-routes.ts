import { defined } from '@parley/shared/defined'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { type Route, route } from '@parley/shared/openapi/route'
import { parse } from '@parley/shared/validate'
import { z } from 'zod'
import { findWritable, requireSelected } from '../access/authorizer.ts'
import { seenByRules } from '../access/caller-of-today.ts'
import {
  requireAdminLeft,
  requireMayGive,
  requireMayGiveOwn,
  requireMayManage,
} from '../access/privileges.ts'
import {
  emailAddress,
  label,
  newPassword,
  userExample,
  userSchema,
  userView,
} from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import {
  deleteRoute,
  listRoute,
  lookupOf,
  type Resource,
  readRoute,
  storeChange,
  storeNew,
} from '../resource-routes.ts'
import { findRole, giveRole, roleReference } from '../roles/find-role.ts'
import { EXAMPLE_PASSWORD, MERGE_PATCH, REST_BODY_BYTES, smallContext } from '../schemas.ts'
import { endGiven, revokeSessions } from '../sessions/revoke.ts'
import type { Account } from '../store/account.ts'
import { actorOf } from '../store/audit.ts'
import { newAccount, refusingTakenEmail } from './new-account.ts'

const users: Resource<Account> = {
  name: 'users',
  path: '/rest/users',
  tag: 'administration',
  title: 'User',
  schema: userSchema,
  example: userExample,
  view: userView,
  collection: ({ accounts }) => accounts,
}
const { path, tag } = users
const response = { schema: userSchema, example: userExample }

/** A password has at least `min` characters. */
const newUser = (min: number) =>
  z.strictObject({
    name: label,
    email: emailAddress,
    phone: label.nullish(),
    password: newPassword(min),
    role: roleReference,
  })

const createUser = route({
  method: 'POST',
  path,
  access: 'write',
  id: 'createUser',
  tag,
  summary: 'Make a user',
  description: 'With the context `{}`. Refused where the role then grants the user what the caller has not.',
  body: {
    schema: newUser(1).meta({ id: 'UserBody' }),
    example: {
      name: 'Bruno Lima',
      email: 'bruno@example.com',
      phone: '+5511999990001',
      password: EXAMPLE_PASSWORD,
      role: 'VIEWER',
    },
    maxBytes: REST_BODY_BYTES,
  },
  response,
  errors: ['email_taken'],
  handle: (administration: Administration) => {
    const { collections, authorizer, passwords } = administration
    const body = newUser(administration.minPasswordLength)
    return async (req, res) => {
      const caller = actorOf(res)
      const decision = await authorizer.require(caller, 'users', 'write')
      const { password, role: reference, phone, ...user } = parse(body, req.body)
      const role = await findRole(collections, caller, reference)
      const seen = { username: user.email, name: user.name, context: {} }
      await requireMayGive(administration, caller, role, seen)
      const stored = await passwords.hash(password, [caller.workspace._id])
      const place = { workspace: caller.workspace._id, role: role._id }
      const account = await newAccount(collections, { ...user, phone: phone ?? '', ...place }, stored)
      requireSelected(decision, account)
      await refusingTakenEmail(() =>
        storeNew(administration, users, {
          caller,
          document: account,
          details: { username: account.username, role: account.role },
          along: (transaction) => giveRole(collections, transaction, role._id),
        }),
      )
      res.json(userView(account))
    }
  },
})

const changeUser = route({
  method: 'PATCH',
  path: `${path}/{id}`,
  access: 'write',
  id: 'changeUser',
  tag,
  summary: 'Change a user',
  description:
    'Nobody gives an account with their own role a name or a context by which it has more than they have. Refused where the ' +
    'user is changed at the same moment.',
  parameters: [idParameter()],
  body: {
    schema: z
      .strictObject({
        name: label.optional(),
        phone: label.optional(),
        role: roleReference.optional(),
        context: smallContext.optional(),
      })
      .meta({ id: 'UserPatch' }),
    example: { name: 'Bruno de Lima' },
    types: MERGE_PATCH,
    maxBytes: REST_BODY_BYTES,
  },
  response: { ...response, example: { ...userExample, name: 'Bruno de Lima' } },
  errors: ['invalid_id', 'not_found', 'last_admin', 'precondition_failed'],
  // A new role takes effect in under 2 s; the last admin retains theirs.
  handle: (administration: Administration) => async (req, res, asked) => {
    const { collections } = administration
    const caller = actorOf(res)
    const {
      document: user,
      decision,
      writable,
    } = await findWritable({ ...lookupOf(users, administration), caller, id: pathId(req.params) })
    const { role: reference, ...sent } = asked.body()
    const given = reference === undefined ? undefined : await findRole(collections, caller, reference)
    const role = given?._id ?? user.role
    await requireMayManage(collections, caller, user.role, seenByRules(user))
    const change = { ...defined(sent), role, updatedAt: new Date() }
    const after = { ...user, ...change } as Account
    if (given !== undefined && role !== user.role)
      await requireMayGive(administration, caller, given, seenByRules(after))
    else if (role === caller.role._id) await requireMayGiveOwn(collections, caller, seenByRules(after))
    requireSelected(decision, after)
    await storeChange(administration, users, {
      ...{ caller, selected: { $and: [writable, asJudged(user)] }, set: change, before: user },
      details: { fields: Object.keys(sent), ...(role === user.role ? {} : { from: user.role, to: role }) },
      forgets: { kind: 'account', key: String(user._id) },
      along: async (transaction) => {
        if (role === user.role) return
        await giveRole(collections, transaction, role)
        await requireAdminLeft(collections, transaction, user.workspace)
      },
    })
    res.json(userView(after))
  },
})

/** Selects the user for as long as nothing has changed that was judged. */
const asJudged = ({ role, name, phone, context }: Account) => ({
  ...{ role, name, phone },
  context: { $eq: context },
})

/** `/rest/users`: the users of the caller's workspace. */
export const userRoutes: readonly Route<Administration>[] = [
  listRoute(users, { id: 'listUsers', summary: 'List users' }),
  createUser,
  readRoute(users, { id: 'readUser', summary: 'Read a user' }),
  changeUser,
  deleteRoute(users, {
    id: 'deleteUser',
    summary: 'Remove a user',
    description:
      'Their sessions, API tokens and invitations end with them, and they are in no team any more.',
    errors: ['last_admin'],
    example: 2,
    asJudged,
    requireMayDelete: ({ collections }, caller, user) =>
      requireMayManage(collections, caller, user.role, seenByRules(user)),
    along: async (collections, transaction, { _id: account, workspace }) => {
      await requireAdminLeft(collections, transaction, workspace)
      await endGiven(collections, transaction, account)
      await collections.passwordLinks.deleteOne({ _id: account }, { session: transaction })
      const left = { $pull: { members: account } }
      await collections.teams.updateMany({ workspace, members: account }, left, { session: transaction })
      await revokeSessions(collections, transaction, { account })
    },
    forgets: 'account',
    details: ({ username, role }) => ({ username, role }),
  }),
]
