import type { Caller } from '@parley/shared/internal-token'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { Administration } from '../administration.ts'
import { authBody } from '../requests.ts'
import { revokeSession, revokeSessions } from '../sessions/revoke.ts'
import { hasEnded, type Session } from '../store/session.ts'

const MOST_SHOWN = 200
const MAX_MS = 5_000

/** What ends: the session of that id, or all others than the one that asks. */
export const sessionsToEnd = z.strictObject({ session: z.string().max(64).optional() }).optional()

/**
 * `GET /api/auth/sessions`: those of the caller's own account, the latest 200. `POST /api/auth/sessions/end` ends one of
 * them, or all others. An API token has none, and is refused.
 */
export function ownSessionRoutes({
  connection,
  collections,
}: Pick<Administration, 'connection' | 'collections'>): Router {
  const router = Router({ caseSensitive: true })
  router
    .route('/api/auth/sessions')
    .get(async (_req, res) => {
      const { caller, session } = withSession(callerOf(res))
      const found = await collections.sessions
        .find({ account: caller.account._id, revokedAt: { $exists: false } }, { maxTimeMS: MAX_MS })
        .sort({ createdAt: -1 })
        .limit(MOST_SHOWN)
        .toArray()
      const now = Date.now()
      const living = found.filter((one) => !hasEnded(one, now))
      res.set('cache-control', 'no-store').json({ data: living.map((one) => sessionView(one, session)) })
    })
    .all(methodNotAllowed('GET'))
  router
    .route('/api/auth/sessions/end')
    .post(authBody(), async (req, res) => {
      const { caller, session: except } = withSession(callerOf(res))
      const { session } = parse(sessionsToEnd, req.body) ?? {}
      const account = caller.account._id
      if (session === undefined)
        await inTransaction(connection, (transaction) =>
          revokeSessions(collections, transaction, { account, except }),
        )
      else {
        const found = await collections.sessions.findOne({ _id: session, account })
        if (found === null || hasEnded(found, Date.now())) throw new Problem('not_found')
        await inTransaction(connection, (transaction) => revokeSession(collections, transaction, session))
      }
      res.json({ ended: true })
    })
    .all(methodNotAllowed('POST'))
  return router
}

/** Whoever is logged in; a token is for programs. */
export function withSession(caller: Caller): { caller: Caller; session: string } {
  if (caller.session === undefined) throw new Problem('forbidden')
  return { caller, session: caller.session }
}

function sessionView({ _id, createdAt, usedAt = createdAt, userAgent }: Session, current: string): object {
  return { _id, createdAt, usedAt, userAgent: userAgent ?? null, isCurrent: _id === current }
}
