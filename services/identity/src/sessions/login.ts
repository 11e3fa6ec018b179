import type { AuditReports } from '@parley/shared/audit-acts'
import type { SlotKey } from '@parley/shared/fair-slots'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import type { Request } from 'express'
import type { Connection } from 'mongoose'
import { z } from 'zod'
import { usernameKey } from '../accounts/user-fields.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { AUTH_BODY_BYTES, EXAMPLE_PASSWORD, NO_STORE } from '../schemas.ts'
import { type Account, noteIssued, type ProvenAccount } from '../store/account.ts'
import { originOf } from '../store/audit.ts'
import { addressOf, slowDownGuessing, type Throttles } from '../throttles.ts'
import { requireSameOrigin, sendWithCookie } from './refresh-cookie.ts'
import {
  planSession,
  type SessionTokens,
  sessionTokens,
  storeSession,
  type TokenDependencies,
  tokensExample,
} from './tokens.ts'

const credentials = z
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
  connection: Connection
  passwords: Passwords
  throttles: Throttles
  reports: Pick<AuditReports, 'report'>
}

/** The same answer, work and delay for an unknown user and a wrong password. */
export const loginRoute = route({
  method: 'POST',
  path: '/api/auth/login',
  access: 'nothing',
  id: 'login',
  tag: 'accounts',
  summary: 'Log in',
  description:
    'The same answer and the same work for an unknown user and a wrong password. With `cookie: true`, for pages of ' +
    'the gateway’s own origin (else 403), the refresh token is not in the body but in a cookie ' +
    '(`HttpOnly; SameSite=Strict; Secure`, the last not for HTTP on loopback) that refresh and logout take.',
  body: {
    schema: credentials.meta({ id: 'Credentials', description: 'With `username` or `email`' }),
    example: { username: 'ana@example.com', password: EXAMPLE_PASSWORD },
    maxBytes: AUTH_BODY_BYTES,
  },
  response: { schema: sessionTokens, example: tokensExample, headers: NO_STORE },
  errors: ['invalid_credentials', 'forbidden'],
  handle: (dependencies: LoginDependencies) => async (req, res, asked) => {
    const { throttles } = dependencies
    const given = asked.body()
    if (given.cookie === true) requireSameOrigin(req)
    const key = usernameKey(given.username ?? given.email ?? '')
    await slowDownGuessing(throttles, req, key)
    const tokens = await logIn(dependencies, key, given, req)
    await throttles.account.forgive(key)
    if (given.cookie === true) sendWithCookie(req, res, tokens)
    else res.set('cache-control', 'no-store').json(tokens)
  },
})

const MAX_TRIES = 5

/** The password that was right has to be the account's when the session begins: hashing it takes its time. */
async function logIn(
  dependencies: LoginDependencies,
  key: string,
  given: z.output<typeof credentials>,
  req: Request,
): Promise<SessionTokens> {
  const { connection, collections, keyRing } = dependencies
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const account = await authenticate(dependencies, key, given, req)
    const planned = await planSession(keyRing, account._id, req.headers['user-agent'])
    const begun = await inTransaction(connection, async (transaction) => {
      if (!(await noteIssued(collections.accounts, transaction, account))) return false
      await storeSession(collections, transaction, planned)
      return true
    })
    if (!begun) continue
    dependencies.reports.report({ ...loginOf(account, req), outcome: 'done' })
    return planned.tokens
  }
  throw new Problem('unavailable', { detail: 'The password is being changed.' })
}

/** The account that these are the credentials of, by its hash of the moment. Throws `invalid_credentials`. */
async function authenticate(
  { collections, passwords, reports }: Pick<LoginDependencies, 'collections' | 'passwords' | 'reports'>,
  key: string,
  given: z.output<typeof credentials>,
  req: Request,
): Promise<LoggingIn> {
  const by: SlotKey = [addressOf(req)]
  const account = await collections.accounts.findOne({ usernameKey: key })
  const workspace = account && (await collections.workspaces.findOne({ _id: account.workspace }))
  const right = await passwords.verify(given.password, account ?? undefined, by)
  const there = given.namespace == null || given.namespace === workspace?.namespace
  if (account !== null && !(right && there)) reports.report({ ...loginOf(account, req), outcome: 'refused' })
  if (account === null || !right || !there) throw new Problem('invalid_credentials')
  const { _id, passwordHash, name, workspace: place } = account
  const known = { _id, passwordHash, name, workspace: place }
  if (!passwords.isOutdated(account)) return known
  const anew = await passwords.hash(given.password, by)
  // Unless the password is being changed at this very moment.
  await collections.accounts.updateOne({ _id, passwordHash }, { $set: anew })
  return { ...known, passwordHash: anew.passwordHash }
}

type LoggingIn = Required<ProvenAccount> & Pick<Account, 'name' | 'workspace'>

const loginOf = ({ _id, name, workspace }: LoggingIn, req: Request) => ({
  ...{ workspace, account: _id, name, ...originOf(req) },
  ...{ action: 'login', resource: 'users', document: _id, path: '/api/auth/login' },
})
