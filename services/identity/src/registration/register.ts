import { ACCESS_TOKEN } from '@parley/shared/access-token'
import { Problem } from '@parley/shared/problem'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import type { Connection } from 'mongoose'
import { z } from 'zod'
import { emailAddress, label, newPassword } from '../accounts/user-fields.ts'
import { usernameKey } from '../accounts/username-key.ts'
import { authBody } from '../auth-body.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { issueAccessToken } from '../sessions/access-token.ts'
import type { KeyRing } from '../signing-keys/key-ring.ts'
import type { Models } from '../store/models.ts'
import { isDuplicate } from '../store/transaction.ts'
import { freeSlug } from '../workspaces/slug.ts'
import {
  planRegistration,
  type Registered,
  registeredView,
  storeRegistration,
  takeRegistrationIds,
} from './registration.ts'

const MAX_TRIES = 10

interface RegisterDependencies {
  connection: Connection
  models: Models
  passwords: Pick<Passwords, 'hash'>
  keyRing: Pick<KeyRing, 'signingKey'>
  baseDomain: string
  minPasswordLength: number
}

/** What registering takes; a password has at least `min` characters. */
export const registration = (min: number) =>
  z.strictObject({
    name: label,
    email: emailAddress,
    phone: z.string(),
    password: newPassword(min),
    namespace: label,
  })

/** `POST /api/auth/register`: makes account, workspace and roles, and logs the new user in. */
export function registerRoute(dependencies: RegisterDependencies): Router {
  const body = registration(dependencies.minPasswordLength)
  const router = Router({ caseSensitive: true })
  router.post('/api/auth/register', authBody(), async (req, res) => {
    const { password, ...user } = parse(body, req.body)
    const registered = await register(dependencies, { user, password })
    const { account, session } = registered
    const issued = await issueAccessToken(dependencies.keyRing, {
      account: account._id,
      session: session._id,
    })
    res.set('cache-control', 'no-store').json({ ...registeredView(registered), ...issued })
  })
  return router
}

type NewUserFields = Parameters<typeof planRegistration>[0]['user']

async function register(
  { connection, models, passwords, baseDomain }: RegisterDependencies,
  { user, password }: { user: NewUserFields; password: string },
): Promise<Registered> {
  const taken = () => new Problem('email_taken')
  // Spares the hash; the unique index decides.
  if (await models.accounts.exists({ usernameKey: usernameKey(user.email) })) throw taken()
  const stored = await passwords.hash(password)
  const ids = await takeRegistrationIds(models)
  const sessionMs = ACCESS_TOKEN.seconds * 1000
  for (let tries = 1; ; tries++) {
    const slug = await freeSlug(models, user.namespace)
    const registered = planRegistration({ user, password: stored, slug, baseDomain, ids, sessionMs })
    try {
      await storeRegistration(connection, models, registered)
      return registered
    } catch (error) {
      if (isDuplicate(error, 'usernameKey')) throw taken()
      if (!isDuplicate(error, 'slug') || tries === MAX_TRIES) throw error
    }
  }
}
