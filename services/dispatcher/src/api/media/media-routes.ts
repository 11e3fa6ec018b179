import type { Authorizer } from '@parley/shared/authorizer'
import { FairSlots } from '@parley/shared/fair-slots'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { type Request, type Response, Router } from 'express'
import { fileName, type MediaBytes } from '../../channels/media/media-bytes.ts'
import {
  type Fetching,
  type MediaRecord,
  type MediaSources,
  readAudio,
  readMedia,
} from '../../channels/media/read-media.ts'
import type { Collections } from '../../store/collections.ts'
import { visibleTo } from '../messages/filter.ts'

const QUERY_MS = 5_000
/** Media with up to 16 MiB in memory each, from when they are asked for until they are handed out. */
const LIMITS = {
  ...{ of: 'media', total: 16, each: [8], protectedMs: 2_000 },
  queue: { total: 256, each: 32, ms: 4_000 },
}

/**
 * GET /rest/messages/{id}/media: what came with a message, wherever it is: bytes, 16 MiB at most, or as JSON what has
 * none. GET /rest/messages/{id}/audio: the same of audio alone. What is in the message itself takes no slot; what is
 * fetched waits up to 4 s for one, and gives way to workspaces that have fewer (503).
 */
export function mediaRoutes(
  options: MediaSources & { messages: Collections['messages']; authorizer: Authorizer },
): Router {
  const slots = new FairSlots(LIMITS)
  const inSlot = (res: Response, { workspace }: MediaRecord): Fetching => {
    const preempt = new AbortController()
    return async (fetch) => {
      const release = await slots.enter([workspace], () => {
        preempt.abort()
        if (res.headersSent) res.destroy()
      })
      res.once('close', release)
      // Its caller hung up while it waited, and it closes no second time.
      if (res.destroyed) {
        release()
        throw new Problem('unavailable')
      }
      return abortable(preempt.signal, () => fetch(preempt.signal))
    }
  }
  const router = Router({ caseSensitive: true })
  router
    .route('/:id/audio')
    .get(async (req, res) => {
      const record = await recordOf(req, res, options)
      hand(res, record, await readAudio(record, options, inSlot(res, record)))
    })
    .all(methodNotAllowed('GET'))
  router
    .route('/:id/media')
    .get(async (req, res) => {
      const record = await recordOf(req, res, options)
      const media = await readMedia(record, options, inSlot(res, record))
      if (media.kind === 'bytes') hand(res, record, media)
      else res.set('cache-control', 'private, no-store').json(media.json)
    })
    .all(methodNotAllowed('GET'))
  return router
}

/** Rejects with `unavailable` once the signal is aborted, whatever the fetch does then. */
async function abortable<T>(signal: AbortSignal, fetch: () => Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_resolve, reject) => {
    const problem = new Problem('unavailable', { detail: 'Media of other workspaces were waiting for this.' })
    signal.addEventListener('abort', () => reject(problem), { once: true })
  })
  return Promise.race([fetch(), aborted])
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
