import type { InternalVerifier } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { requireService } from '@parley/shared/service-app'
import { Router } from 'express'
import type { Models } from '../store/models.ts'

/** `GET /internal/workspaces/by-slug/:slug`: the workspace of a slug, which is the same for ever. */
export function workspaceBySlugRoute({
  models,
  verifier,
}: {
  models: Pick<Models, 'workspaces'>
  verifier: InternalVerifier
}): Router {
  const router = Router({ caseSensitive: true })
  router.get(
    '/internal/workspaces/by-slug/:slug',
    requireService(verifier, 'webhook', 'dispatcher', 'configuration'),
    async (req, res) => {
      const found = await models.workspaces.findOne({ slug: String(req.params.slug) }).lean()
      if (found === null) throw new Problem('not_found')
      const { _id, name, namespace, slug, host, status } = found
      res.json({ _id, name, namespace, slug, host, status })
    },
  )
  return router
}
