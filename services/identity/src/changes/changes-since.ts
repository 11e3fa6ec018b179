import type { InternalVerifier } from '@parley/shared/internal-token'
import { requireService } from '@parley/shared/service-app'
import { Router } from 'express'
import type { Models } from '../store/models.ts'

// A change carries the time at which its transaction began, and those may take a few seconds.
const OVERLAP_MS = 10_000
const MAX_CHANGES = 5_000

/**
 * `GET /internal/changes?since=`, for the gateway: what was revoked or changed, told again for 10 s. `since`
 * is the `now` of the answer before; `complete` is false when it is too long ago for the list to hold all.
 */
export function changesRoute({
  models,
  verifier,
}: {
  models: Pick<Models, 'changes'>
  verifier: InternalVerifier
}): Router {
  const router = Router({ caseSensitive: true })
  router.get('/internal/changes', requireService(verifier, 'gateway'), async (req, res) => {
    const now = Date.now()
    const since = Math.min(Number(req.query.since) || now, now)
    const found = await models.changes
      .find({ at: { $gte: new Date(since - OVERLAP_MS) } })
      .sort({ at: 1 })
      .limit(MAX_CHANGES + 1)
      .lean()
    const changes = found.slice(0, MAX_CHANGES).map(({ _id, kind, key }) => ({ id: String(_id), kind, key }))
    res.json({ now, complete: found.length <= MAX_CHANGES && now - since < KEPT_MS, changes })
  })
  return router
}

// Well below the day for which changes are kept.
const KEPT_MS = 43_200_000
