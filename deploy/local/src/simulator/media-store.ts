import { randomInt } from 'node:crypto'
import { type RequestHandler, Router } from 'express'
import { MetaError } from './meta-error.ts'

const MAX_MEDIA = 1_000
const MAX_TOTAL_BYTES = 64 * 1024 * 1024

interface StoredMedia {
  bytes: Buffer
  mimeType: string
}

/** The newest 1,000 media that people sent, 64 MiB at most, in memory. */
export interface MediaStore {
  /** Returns the id. */
  add(media: StoredMedia): string
  find(id: string): StoredMedia | undefined
}

export function createMediaStore(): MediaStore {
  const media = new Map<string, StoredMedia>()
  let size = 0
  return {
    add(added) {
      const id = String(randomInt(1e14, 2e14))
      media.set(id, added)
      size += added.bytes.length
      for (const [oldest, { bytes }] of media) {
        if (media.size <= MAX_MEDIA && size <= MAX_TOTAL_BYTES) break
        media.delete(oldest)
        size -= bytes.length
      }
      return id
    },
    find: (id) => media.get(id),
  }
}

/** `GET /v<NN>.<n>/{mediaId}`: where the bytes are; they come with the token, too. */
export function mediaRoutes(options: {
  media: Pick<MediaStore, 'find'>
  checks: RequestHandler<{ version: string; id: string }>[]
}): Router {
  const { media, checks } = options
  const router = Router()
  router.get('/:version/bytes/:id', ...checks, (req, res) => {
    const found = media.find(req.params.id)
    if (found === undefined) throw new MetaError({ status: 404, code: 100, message: 'Unknown media' })
    res.set('content-type', found.mimeType).end(found.bytes)
  })
  router.get('/:version/:id', ...checks, (req, res, next) => {
    const { version, id } = req.params
    const found = media.find(id)
    if (found === undefined) return next()
    const url = `${req.protocol}://${req.get('host')}/${version}/bytes/${id}`
    res.json({
      ...{ messaging_product: 'whatsapp', id, url },
      ...{ mime_type: found.mimeType, file_size: found.bytes.length },
    })
  })
  return router
}
