import type { Authorizer } from '@parley/shared/authorizer'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { Router } from 'express'
import { fileName } from '../../channels/audio/audio-bytes.ts'
import { type AudioRecord, type AudioSources, readAudio } from '../../channels/audio/read-audio.ts'
import type { Collections } from '../../store/collections.ts'
import { visibleTo } from '../messages/visible.ts'

const QUERY_MS = 5_000
const MAX_AT_ONCE = 8

/** GET /rest/messages/{id}/audio: the bytes of a message's audio, 16 MiB at most, wherever they are. */
export function audioRoutes(
  options: AudioSources & { messages: Collections['messages']; authorizer: Authorizer },
): Router {
  const { messages, authorizer } = options
  let inFlight = 0
  const router = Router({ caseSensitive: true })
  router
    .route('/:id/audio')
    .get(async (req, res) => {
      const filter = { $and: [{ _id: req.params.id }, await visibleTo(res, { authorizer, access: 'read' })] }
      const projection = { workspace: 1, channel: 1, source: 1, body: 1 }
      const record: AudioRecord | null = await messages.findOne(filter, { projection, maxTimeMS: QUERY_MS })
      if (record === null) throw new Problem('not_found')
      if (inFlight >= MAX_AT_ONCE)
        throw new Problem('unavailable', { detail: 'Too much audio is being fetched.' })
      inFlight++
      const { bytes, contentType } = await readAudio(record, options).finally(() => inFlight--)
      res.set({
        'content-type': contentType,
        'content-length': String(bytes.length),
        'content-disposition': `attachment; filename="${fileName(record._id, contentType)}"`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "sandbox; default-src 'none'",
        'cache-control': 'private, no-store',
      })
      res.end(bytes)
    })
    .all(methodNotAllowed('GET'))
  return router
}
