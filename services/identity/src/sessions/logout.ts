import type { InternalVerifier } from '@parley/shared/internal-token'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import type { Request } from 'express'
import type { Connection } from 'mongoose'
import { z } from 'zod'
import { AUTH_BODY_BYTES, NO_STORE } from '../schemas.ts'
import type { Collections } from '../store/collections.ts'
import { hasEnded, tokenHash } from '../store/session.ts'
import { clearRefreshCookie, refreshCookie } from './refresh-cookie.ts'
import { revokeSession, revokeSessions } from './revoke.ts'

interface LogoutDependencies {
  connection: Connection
  collections: Collections
  verifier: InternalVerifier
}

/** A refresh token that nobody knows has ended already, and that of a session that has ended ends nothing. */
export const logoutRoute = route({
  method: 'POST',
  path: '/api/auth/logout',
  access: 'optional',
  id: 'logout',
  tag: 'accounts',
  summary: 'Log out',
  description:
    'Ends the session of the refresh token in the body, else of that in the cookie, else of the bearer token; ' +
    'with `everywhere` all.',
  body: {
    schema: z.strictObject({ refreshToken: z.string().nullish(), everywhere: z.boolean().nullish() }),
    example: { everywhere: false },
    optional: true,
    maxBytes: AUTH_BODY_BYTES,
  },
  response: {
    schema: z.object({ loggedOut: z.literal(true) }),
    example: { loggedOut: true },
    headers: NO_STORE,
  },
  handle:
    ({ connection, collections, verifier }: LogoutDependencies) =>
    async (req, res, asked) => {
      const { refreshToken: sent, everywhere } = asked.body()
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
    },
})

function sessionOfCaller(verifier: InternalVerifier, req: Request): string {
  const session = verifier.verify(req.headers.authorization).caller?.session
  if (session === undefined) throw new Problem('unauthenticated')
  return session
}
