import type { InternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import { requireService } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { Models } from '../store/models.ts'
import { type Confirmed, confirmApiToken, confirmSession } from './confirm.ts'

const MAX_BODY_BYTES = 4_096

const question = z.union([
  z.strictObject({ account: z.number().int(), session: z.string() }),
  z.strictObject({ tokenHash: z.string() }),
])

/** `POST /internal/introspect`, for the gateway: whether a session or an API token holds, and who is behind it. */
export function introspectRoute({
  models,
  verifier,
}: {
  models: Models
  verifier: InternalVerifier
}): Router {
  const router = Router({ caseSensitive: true })
  router.post(
    '/internal/introspect',
    requireService(verifier, 'gateway'),
    jsonBody({ maxBytes: MAX_BODY_BYTES }),
    async (req, res) => {
      const confirmed = await answer(models, parse(question, req.body))
      res.json(confirmed === undefined ? { active: false } : { active: true, ...confirmed })
    },
  )
  return router
}

function answer(models: Models, asked: z.output<typeof question>): Promise<Confirmed | undefined> {
  return 'tokenHash' in asked ? confirmApiToken(models, asked.tokenHash) : confirmSession(models, asked)
}
