import type { InternalVerifier } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { requireService } from '@parley/shared/service-app'
import { Router } from 'express'
import type { Models } from '../store/models.ts'
import { roleVersionId } from '../store/role.ts'

/** `GET /internal/roles/:id/versions/:version`: a role as it was at one version, which never changes. */
export function roleVersionRoute({
  models,
  verifier,
}: {
  models: Pick<Models, 'roleVersions'>
  verifier: InternalVerifier
}): Router {
  const router = Router({ caseSensitive: true })
  router.get(
    '/internal/roles/:id/versions/:version',
    requireService(verifier, 'configuration', 'webhook', 'dispatcher', 'gateway'),
    async (req, res) => {
      const id = roleVersionId(Number(req.params.id), Number(req.params.version))
      const found = await models.roleVersions.findById(id).lean()
      if (found === null) throw new Problem('not_found')
      const { role, name, version, permissions } = found
      res.json({ _id: role, name, version, permissions })
    },
  )
  return router
}
