import { Problem } from '@parley/shared/problem'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import { usernameKey } from '../accounts/user-fields.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { authBody } from '../requests.ts'
import type { Account } from '../store/account.ts'
import { slowDownGuessing, type Throttles } from '../throttles.ts'
import { requireSameOrigin, sendWithCookie } from './refresh-cookie.ts'
import { startSession, type TokenDependencies } from './tokens.ts'

/** What a login takes. */
export const credentials = z
  .strictObject({
    username: z.string().nullish(),
    email: z.string().nullish(),
    password: z.string(),
    namespace: z.string().nullish(),
    cookie: z.boolean().nullish().describe('Whether a cookie gets the refresh token in place of the body'),
  })
  .refine(({ username, email }) => (username ?? email) != null, {
    path: ['username'],
    error: 'username or email is required',
  })

interface LoginDependencies extends TokenDependencies {
  passwords: Passwords
  throttles: Throttles
}

/**
 * `POST /api/auth/login`: the same answer, work and delay for an unknown user and a wrong password. With `cookie`
 * the refresh token goes into a cookie, for a page of the same origin only.
 */
export function loginRoute(dependencies: LoginDependencies): Router {
  const { throttles } = dependencies
  const router = Router({ caseSensitive: true })
  router.post('/api/auth/login', authBody(), async (req, res) => {
    const given = parse(credentials, req.body)
    if (given.cookie === true) requireSameOrigin(req)
    const key = usernameKey(given.username ?? given.email ?? '')
    await slowDownGuessing(throttles, req, key)
    const account = await authenticate(dependencies, key, given)
    await throttles.account.forgive(key)
    const tokens = await startSession(dependencies, account._id)
    if (given.cookie === true) sendWithCookie(req, res, tokens)
    else res.set('cache-control', 'no-store').json(tokens)
  })
  return router
}

async function authenticate(
  { collections, passwords }: Pick<LoginDependencies, 'collections' | 'passwords'>,
  key: string,
  given: z.output<typeof credentials>,
) {
  const account = await collections.accounts.findOne({ usernameKey: key })
  const workspace = account && (await collections.workspaces.findOne({ _id: account.workspace }))
  const right = await passwords.verify(given.password, account ?? undefined)
  const there = given.namespace == null || given.namespace === workspace?.namespace
  if (account === null || !right || !there) throw new Problem('invalid_credentials')
  if (passwords.isOutdated(account)) await hashAnew({ collections, passwords }, account, given.password)
  return account
}

/** Unless the password is being changed at this very moment. */
async function hashAnew(
  { collections, passwords }: Pick<LoginDependencies, 'collections' | 'passwords'>,
  { _id, passwordHash }: Account,
  password: string,
): Promise<void> {
  await collections.accounts.updateOne({ _id, passwordHash }, { $set: await passwords.hash(password) })
}
