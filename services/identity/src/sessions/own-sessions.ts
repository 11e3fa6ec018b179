import type { Caller } from '@parley/shared/internal-token'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { Router } from 'express'
import type { Administration } from '../administration.ts'
import { hasEnded, type Session } from '../store/session.ts'
import { revokeSession, revokeSessions } from './revoke.ts'

const MOST_SHOWN = 200
const MAX_MS = 5_000

/**
 * `/api/auth/sessions`: the sessions of the caller's own account, the latest 200. GET lists them, DELETE ends all others
 * than the one that asks, and below an id that one. An API token has none, and is refused.
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
    .delete(async (_req, res) => {
      const { caller, session } = withSession(callerOf(res))
      const others = { account: caller.account._id, except: session }
      await inTransaction(connection, (transaction) => revokeSessions(collections, transaction, others))
      res.json({ ended: true })
    })
    .all(methodNotAllowed('GET', 'DELETE'))
  router
    .route('/api/auth/sessions/:id')
    .delete(async (req, res) => {
      const { caller } = withSession(callerOf(res))
      const own = { _id: String(req.params.id), account: caller.account._id }
      const found = await collections.sessions.findOne(own)
      if (found === null || hasEnded(found, Date.now())) throw new Problem('not_found')
      await inTransaction(connection, (transaction) => revokeSession(collections, transaction, own._id))
      res.json({ ended: true })
    })
    .all(methodNotAllowed('DELETE'))
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
