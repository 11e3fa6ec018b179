import { isDuplicate } from '@parley/shared/insert-new'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { requireSelected } from '../access/authorizer.ts'
import { requireMayGive } from '../access/privileges.ts'
import { emailAddress, label, newPassword, usernameKey, userView } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { requireStillValid } from '../password-change/recent-password.ts'
import type { StoredPassword } from '../passwords/passwords.ts'
import { findRole, giveRole, roleReference } from '../roles/find-role.ts'
import type { Account } from '../store/account.ts'
import { audit } from '../store/audit.ts'
import { takeIds } from '../store/ids.ts'

/** What a new user takes; a password has at least `min` characters. */
export const newUser = (min: number) =>
  z.strictObject({
    name: label,
    email: emailAddress,
    phone: label.nullish(),
    password: newPassword(min),
    role: roleReference,
  })

/** `POST /rest/users`: a further user of the caller's workspace, with a password to begin with. */
export function createUser(administration: Administration): RequestHandler {
  const { connection, collections, authorizer, passwords } = administration
  const body = newUser(administration.minPasswordLength)
  return async (req, res) => {
    const caller = callerOf(res)
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
      inTransaction(connection, async (transaction) => {
        await requireStillValid(collections, transaction, { caller })
        await giveRole(collections, transaction, role._id)
        await collections.accounts.insertOne(account, { session: transaction })
        await audit(collections, transaction, caller, {
          action: 'create',
          resource: 'users',
          document: account._id,
          details: { username: account.username, role: account.role },
        })
      }),
    )
    res.json(userView(account))
  }
}

/** The document of a new account, with ids of its own. */
export async function newAccount(
  collections: Administration['collections'],
  user: { name: string; email: string; phone: string; workspace: number; role: number },
  password: StoredPassword,
): Promise<Account> {
  const amounts = { accounts: 1, profiles: 1 }
  const ids = await takeIds({ counters: collections.counters, from: 'ids', amounts })
  const { email, ...fields } = user
  const now = new Date()
  return {
    _id: ids.accounts,
    provider: 'local',
    username: email,
    usernameKey: usernameKey(email),
    ...password,
    ...fields,
    profile: ids.profiles,
    context: {},
    createdAt: now,
    updatedAt: now,
  }
}

/** Runs `store`, and turns its clash over a user name into `email_taken`. */
export async function refusingTakenEmail(store: () => Promise<void>): Promise<void> {
  try {
    await store()
  } catch (error) {
    throw isDuplicate(error, 'usernameKey') ? new Problem('email_taken') : error
  }
}
