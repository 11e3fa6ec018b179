import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import type { Request, Response } from 'express'
import type { Connection } from 'mongoose'
import { z } from 'zod'
import { AUTH_BODY_BYTES, NO_STORE } from '../schemas.ts'
import { type Collections, ID_ONLY } from '../store/collections.ts'
import { hasEnded, type RefreshToken, type Session, tokenHash } from '../store/session.ts'
import { clearRefreshCookie, refreshCookie, sendWithCookie } from './refresh-cookie.ts'
import { revokeSession } from './revoke.ts'
import {
  continueSession,
  sessionTokens,
  successorOf,
  type TokenDependencies,
  tokensExample,
} from './tokens.ts'

// For so long an answer that got lost can be had again; after that a used token is taken for a stolen one.
const REPLAY_MS = 60_000

const withToken = z.strictObject({ refreshToken: z.string() })

interface RefreshDependencies extends TokenDependencies {
  connection: Connection
}

/**
 * A refresh token that was used before gets the same answer for a minute, as long as its successor is unused; after that its
 * whole session is revoked. One that came in a cookie has its successor in a cookie.
 */
export const refreshRoute = route({
  method: 'POST',
  path: '/api/auth/refresh',
  access: 'nothing',
  id: 'refresh',
  tag: 'accounts',
  summary: 'Go on with a session',
  description:
    'Trades a refresh token for its successor. Using an old one again ends the session. Without one in the body, ' +
    'that of the cookie is taken when `Origin` is the address that was asked, else 403.',
  body: {
    schema: z.strictObject({
      refreshToken: z.string().optional().describe('Left out where the cookie has it'),
    }),
    example: { refreshToken: tokensExample.refreshToken },
    optional: true,
    maxBytes: AUTH_BODY_BYTES,
  },
  response: { schema: sessionTokens, example: tokensExample, headers: NO_STORE },
  errors: ['invalid_refresh_token', 'forbidden'],
  handle: (dependencies: RefreshDependencies) => async (req, res, asked) => {
    const sent = asked.body().refreshToken
    const cookie = sent === undefined ? refreshCookie(req) : undefined
    if (cookie !== undefined) return refreshByCookie(dependencies, { req, res, cookie })
    const { refreshToken } = parse(withToken, req.body)
    const session = await useToken(dependencies, refreshToken)
    const tokens = await continueSession(dependencies, session, refreshToken)
    res.set('cache-control', 'no-store').json(tokens)
  },
})

async function refreshByCookie(
  dependencies: RefreshDependencies,
  { req, res, cookie }: { req: Request; res: Response; cookie: string },
): Promise<void> {
  try {
    const session = await useToken(dependencies, cookie)
    sendWithCookie(req, res, await continueSession(dependencies, session, cookie))
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_refresh_token') clearRefreshCookie(req, res)
    throw error
  }
}

/** Marks the token as used and answers with its session. Throws `invalid_refresh_token`. */
async function useToken({ connection, collections }: RefreshDependencies, token: string): Promise<Session> {
  const { record, session } = await findToken(collections, token)
  if (record.usedAt === undefined) {
    const unused = { _id: record._id, usedAt: { $exists: false } }
    const { modifiedCount } = await collections.refreshTokens.updateOne(unused, {
      $set: { usedAt: new Date() },
    })
    if (modifiedCount === 1) return session
  } else if (Date.now() - record.usedAt.getTime() > REPLAY_MS)
    return refuseReuse(connection, collections, session)
  const successor = await collections.refreshTokens.findOne({ _id: tokenHash(successorOf(session, token)) })
  return successor?.usedAt === undefined ? session : refuseReuse(connection, collections, session)
}

/** The record of a refresh token and its session. Throws `invalid_refresh_token` when either has ended. */
async function findToken(
  collections: Collections,
  token: string,
): Promise<{ record: RefreshToken; session: Session }> {
  const record = await collections.refreshTokens.findOne({ _id: tokenHash(token) })
  const session = record && (await collections.sessions.findOne({ _id: record.session }))
  const account = session && (await collections.accounts.findOne({ _id: session.account }, ID_ONLY))
  const now = Date.now()
  const ended = session === null || account === null || hasEnded(session, now)
  if (record === null || ended || record.expiresAt.getTime() <= now)
    throw new Problem('invalid_refresh_token')
  return { record, session }
}

async function refuseReuse(
  connection: Connection,
  collections: Collections,
  session: Session,
): Promise<never> {
  await inTransaction(connection, (transaction) => revokeSession(collections, transaction, session._id))
  throw new Problem('invalid_refresh_token', { detail: 'It was used before, so its session has ended.' })
}
