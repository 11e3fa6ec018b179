import { MAX_REPORTED, reportedAct } from '@parley/shared/audit-acts'
import type { InternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import { Problem } from '@parley/shared/problem'
import { requireService } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { REST_BODY_BYTES } from './schemas.ts'
import { storeReported } from './store/audit.ts'
import type { Change } from './store/change.ts'
import type { Collections } from './store/collections.ts'
import { roleVersionId } from './store/role.ts'

// A change carries the time at which its transaction began, and those may take a few seconds.
const OVERLAP_MS = 10_000
const MAX_CHANGES = 5_000
const reported = z.object({ acts: z.array(reportedAct).max(MAX_REPORTED) })

/** For other services: what changed of callers, what never changes of roles and workspaces, and what they have for the audit log. */
export function internalRoutes({
  collections,
  verifier,
}: {
  collections: Collections
  verifier: InternalVerifier
}): Router {
  const router = Router({ caseSensitive: true })
  router.get('/internal/changes', requireService(verifier, 'gateway'), async (req, res) => {
    res.json(await changesSince(collections, Number(req.query.since)))
  })
  router.post(
    '/internal/audit',
    requireService(verifier, 'gateway'),
    jsonBody({ maxBytes: REST_BODY_BYTES }),
    async (req, res) => {
      await storeReported(collections, parse(reported, req.body).acts)
      res.json({ stored: true })
    },
  )
  router.get(
    '/internal/workspaces/by-slug/:slug',
    requireService(verifier, 'webhook', 'dispatcher', 'configuration'),
    async (req, res) => {
      const found = await collections.workspaces.findOne({ slug: String(req.params.slug) })
      if (found === null) throw new Problem('not_found')
      const { _id, name, namespace, slug, host, status } = found
      res.json({ _id, name, namespace, slug, host, status })
    },
  )
  router.get('/internal/teams/:id', requireService(verifier, 'dispatcher'), async (req, res) => {
    const found = await collections.teams.findOne({ _id: Number(req.params.id) })
    if (found === null) throw new Problem('not_found')
    res.json(found)
  })
  router.get(
    '/internal/roles/:id/versions/:version',
    requireService(verifier, 'configuration', 'webhook', 'dispatcher', 'campaigns', 'gateway'),
    async (req, res) => {
      const id = roleVersionId(Number(req.params.id), Number(req.params.version))
      const found = await collections.roleVersions.findOne({ _id: id })
      if (found === null) throw new Problem('not_found')
      const { role, name, version, permissions } = found
      res.json({ _id: role, name, version, permissions })
    },
  )
  return router
}

/**
 * What was revoked or changed, reported again for 10 s, and once however often it changed: by its latest change. `asked` is the
 * `now` of the answer before; `complete` is false when it is too long ago for the list to have all.
 */
async function changesSince(collections: Pick<Collections, 'changes'>, asked: number): Promise<object> {
  const now = Date.now()
  const since = Math.min(asked || now, now)
  const found = await latestChanges(collections, new Date(since - OVERLAP_MS))
  const changes = found.slice(0, MAX_CHANGES).map(({ id, _id }) => ({ id: String(id), ..._id }))
  return { now, complete: found.length <= MAX_CHANGES && now - since < RETAINED_MS, changes }
}

/** The latest change of each session, account, … since then, the first ones first; one more than are reported. */
function latestChanges({ changes }: Pick<Collections, 'changes'>, since: Date): Promise<LatestChange[]> {
  const latest = { _id: { kind: '$kind', key: '$key' }, id: { $last: '$_id' }, at: { $last: '$at' } }
  return changes
    .aggregate<LatestChange>([
      { $match: { at: { $gte: since } } },
      { $sort: { at: 1 } },
      { $group: latest },
      { $sort: { at: 1 } },
      { $limit: MAX_CHANGES + 1 },
    ])
    .toArray()
}

interface LatestChange {
  _id: Pick<Change, 'kind' | 'key'>
  id: mongo.ObjectId
}

// Well below the day for which changes are retained.
const RETAINED_MS = 43_200_000
