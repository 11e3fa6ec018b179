import { pipeline } from 'node:stream/promises'
import { jsonBody } from '@parley/shared/json-body'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { validate } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { AudioStore } from './audio-store.ts'

const WORKSPACE = /^\d{1,16}$/
const MAX_ERASED = 500
const MAX_ERASE_BYTES = 128 * 1024
const erased = z.object({ ids: z.array(z.string().max(128)).max(MAX_ERASED) })

/**
 * For the dispatcher: GET /workspaces/{workspace}/audio/{id}, the text that came in as `audio`, and POST
 * /workspaces/{workspace}/audio/erase, which erases that of the messages in `ids`.
 */
export function audioRoutes(audio: Pick<AudioStore, 'open' | 'erase'>): Router {
  const router = Router({ caseSensitive: true })
  // Before the other one, whose id it would be.
  router
    .route('/workspaces/:workspace/audio/erase')
    .post(jsonBody({ maxBytes: MAX_ERASE_BYTES }), async (req, res) => {
      const { workspace } = req.params
      if (!WORKSPACE.test(workspace)) throw new Problem('invalid_id')
      const { ids } = validate(erased, req.body)
      await audio.erase(Number(workspace), ids)
      res.json({ erased: true })
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/audio/:id')
    .get(async (req, res) => {
      const { workspace, id } = req.params
      if (!WORKSPACE.test(workspace)) throw new Problem('invalid_id')
      const found = await audio.open(Number(workspace), id)
      if (found === undefined) throw new Problem('not_found')
      res.set({ 'content-type': 'text/plain; charset=utf-8', 'content-length': String(found.bytes) })
      await pipeline(found.content, res)
    })
    .all(methodNotAllowed('GET'))
  return router
}
