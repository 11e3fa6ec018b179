import { randomInt } from 'node:crypto'
import express, { type RequestHandler, Router } from 'express'
import { MetaError } from './meta-error.ts'

const MAX_MEDIA = 1_000
const MAX_TOTAL_BYTES = 64 * 1024 * 1024

interface StoredMedia {
  bytes: Buffer
  mimeType: string
}

/** The newest 1,000 media that people sent, or that were uploaded, 64 MiB at most, in memory. */
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

const UPLOADED =
  /^(?:image\/(?:jpeg|png)|video\/(?:mp4|3gpp)|audio\/(?:aac|amr|mpeg|mp4|ogg)|text\/plain|application\/.+)$/
const MAX_IMAGE_BYTES = 5 * 1024 * 1024
const MAX_FORM = '17mb'

/**
 * `POST /v<NN>.<n>/{phoneNumberId}/media`: a file as a form. `GET /v<NN>.<n>/{mediaId}`: where the bytes are; they come with
 * the token, too.
 */
export function mediaRoutes(options: {
  media: MediaStore
  checks: RequestHandler<{ version: string; id: string }>[]
}): Router {
  const { media, checks } = options
  const router = Router()
  const form = express.raw({ limit: MAX_FORM, type: 'multipart/form-data' })
  router.post('/:version/:id/media', ...checks, form, async (req, res) => {
    res.json({ id: media.add(await uploadIn(req.body, req.headers['content-type'])) })
  })
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

/** Throws Meta's error for what it would refuse. */
async function uploadIn(body: unknown, type = ''): Promise<StoredMedia> {
  const given = Buffer.isBuffer(body) ? new Uint8Array(body) : new Uint8Array()
  const form = await new Response(given, { headers: { 'content-type': type } })
    .formData()
    .catch(() => undefined)
  const file = form?.get('file')
  if (form?.get('messaging_product') !== 'whatsapp') throw invalid('messaging_product is required')
  if (!(file instanceof Blob)) throw invalid('file is required')
  const bytes = Buffer.from(await file.arrayBuffer())
  if (!UPLOADED.test(file.type)) throw invalid(`file must be of a supported type: it is ${file.type}`)
  if (file.type.startsWith('image/') && bytes.length > MAX_IMAGE_BYTES)
    throw invalid('The image is too large')
  return { bytes, mimeType: file.type }
}

const invalid = (details: string): MetaError =>
  new MetaError({ status: 400, code: 100, message: 'Invalid parameter', details })
