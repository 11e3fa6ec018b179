import type { InternalVerifier } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { type Request, Router } from 'express'
import type { Connection } from 'mongoose'
import { z } from 'zod'
import { authBody } from '../requests.ts'
import type { Collections } from '../store/collections.ts'
import { hasEnded, tokenHash } from '../store/session.ts'
import { clearRefreshCookie, refreshCookie } from './refresh-cookie.ts'
import { revokeSession, revokeSessions } from './revoke.ts'

/** What a logout takes. */
export const logoutBody = z
  .strictObject({ refreshToken: z.string().nullish(), everywhere: z.boolean().nullish() })
  .optional()

interface LogoutDependencies {
  connection: Connection
  collections: Collections
  verifier: InternalVerifier
}

/**
 * `POST /api/auth/logout`: ends the session of the refresh token in the body, else of the one in the cookie, else that of
 * the bearer token; with `everywhere` all sessions of the account. A refresh token that nobody knows has ended already, and
 * that of a session that has ended ends nothing.
 */
export function logoutRoute({ connection, collections, verifier }: LogoutDependencies): Router {
  const router = Router({ caseSensitive: true })
  router.post('/api/auth/logout', authBody(), async (req, res) => {
    const { refreshToken: sent, everywhere } = parse(logoutBody, req.body) ?? {}
    const cookie = sent == null ? refreshCookie(req) : undefined
    const refreshToken = sent ?? cookie
    const id =
      refreshToken == null
        ? sessionOfCaller(verifier, req)
        : (await collections.refreshTokens.findOne({ _id: tokenHash(refreshToken) }))?.session
    const session = id === undefined ? null : await collections.sessions.findOne({ _id: id })
    if (session !== null && !hasEnded(session, Date.now()))
      await inTransaction(connection, (transaction) =>
        everywhere === true
          ? revokeSessions(collections, transaction, { account: session.account })
          : revokeSession(collections, transaction, session._id),
      )
    if (cookie !== undefined) clearRefreshCookie(req, res)
    res.set('cache-control', 'no-store').json({ loggedOut: true })
  })
  return router
}

function sessionOfCaller(verifier: InternalVerifier, req: Request): string {
  const session = verifier.verify(req.headers.authorization).caller?.session
  if (session === undefined) throw new Problem('unauthenticated')
  return session
}
