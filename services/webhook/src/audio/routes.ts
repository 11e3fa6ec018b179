import { pipeline } from 'node:stream/promises'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { Router } from 'express'
import type { AudioStore } from './audio-store.ts'

const WORKSPACE = /^\d{1,16}$/

/** GET /workspaces/{workspace}/audio/{id}: the text that came in as `audio`, for the dispatcher. */
export function audioRoutes(audio: Pick<AudioStore, 'open'>): Router {
  const router = Router({ caseSensitive: true })
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
