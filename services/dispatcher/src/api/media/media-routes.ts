import type { Authorizer } from '@parley/shared/authorizer'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { type Request, type Response, Router } from 'express'
import { fileName, type MediaBytes } from '../../channels/media/media-bytes.ts'
import { type MediaRecord, type MediaSources, readAudio, readMedia } from '../../channels/media/read-media.ts'
import type { Collections } from '../../store/collections.ts'
import { visibleTo } from '../messages/visible.ts'

const QUERY_MS = 5_000
const MAX_AT_ONCE = 8

/**
 * GET /rest/messages/{id}/media: what came with a message, wherever it is: bytes, 16 MiB at most, or as JSON what has
 * none. GET /rest/messages/{id}/audio: the same of audio alone.
 */
export function mediaRoutes(
  options: MediaSources & { messages: Collections['messages']; authorizer: Authorizer },
): Router {
  let inFlight = 0
  const atOnce = async <T>(read: () => Promise<T>): Promise<T> => {
    if (inFlight >= MAX_AT_ONCE)
      throw new Problem('unavailable', { detail: 'Too many media are being fetched.' })
    inFlight++
    return read().finally(() => inFlight--)
  }
  const router = Router({ caseSensitive: true })
  router
    .route('/:id/audio')
    .get(async (req, res) => {
      const record = await recordOf(req, res, options)
      hand(res, record, await atOnce(() => readAudio(record, options)))
    })
    .all(methodNotAllowed('GET'))
  router
    .route('/:id/media')
    .get(async (req, res) => {
      const record = await recordOf(req, res, options)
      const media = await atOnce(() => readMedia(record, options))
      if (media.kind === 'bytes') hand(res, record, media)
      else res.set('cache-control', 'private, no-store').json(media.json)
    })
    .all(methodNotAllowed('GET'))
  return router
}

async function recordOf(
  req: Request<{ id: string }>,
  res: Response,
  { messages, authorizer }: { messages: Collections['messages']; authorizer: Authorizer },
): Promise<MediaRecord> {
  const filter = { $and: [{ _id: req.params.id }, await visibleTo(res, { authorizer, access: 'read' })] }
  const projection = { workspace: 1, channel: 1, source: 1, body: 1 }
  const record: MediaRecord | null = await messages.findOne(filter, { projection, maxTimeMS: QUERY_MS })
  if (record === null) throw new Problem('not_found')
  return record
}

/** In such a way that no browser runs it. */
function hand(res: Response, { _id }: MediaRecord, media: MediaBytes & { fileName?: string }): void {
  const { bytes, contentType } = media
  res.set({
    'content-type': contentType,
    'content-length': String(bytes.length),
    'content-disposition': `attachment; filename="${fileName(_id, contentType, media.fileName)}"`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
  })
  res.end(bytes)
}
