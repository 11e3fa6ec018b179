import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { Router } from 'express'
import type { Channels } from '../../channels/channels.ts'
import type { HttpClient } from '../../channels/http/http-client.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Collections } from '../../store/collections.ts'
import { visibleTo } from '../messages/visible.ts'
import { type AudioBytes, audioFromText, fileName } from './audio-bytes.ts'
import { findAudio } from './find-audio.ts'
import { fetchMedia } from './meta-media.ts'

const QUERY_MS = 5_000
const WEBHOOK_TIMEOUT_MS = 10_000
const MAX_BYTES = 16 * 1024 * 1024
// As base64, and what a data URL begins with.
const MAX_TEXT_BYTES = 24 * 1024 * 1024
const MAX_AT_ONCE = 8

type Found = Pick<MessageRecord, '_id' | 'workspace' | 'channel' | 'source' | 'body'>

interface Sources {
  channels: Pick<Channels, 'find'>
  webhook: Pick<InternalClient, 'getBytes'>
  http: Pick<HttpClient, 'getBytes'>
}

/** GET /rest/messages/{id}/audio: the bytes of a message's audio, 16 MiB at most, wherever they are. */
export function audioRoutes(
  options: Sources & { messages: Collections['messages']; authorizer: Authorizer },
): Router {
  const { messages, authorizer } = options
  let inFlight = 0
  const router = Router({ caseSensitive: true })
  router
    .route('/:id/audio')
    .get(async (req, res) => {
      const filter = { $and: [{ _id: req.params.id }, await visibleTo(res, { authorizer, access: 'read' })] }
      const projection = { workspace: 1, channel: 1, source: 1, body: 1 }
      const record: Found | null = await messages.findOne(filter, { projection, maxTimeMS: QUERY_MS })
      if (record === null) throw new Problem('not_found')
      if (inFlight >= MAX_AT_ONCE)
        throw new Problem('unavailable', { detail: 'Too much audio is being fetched.' })
      inFlight++
      const { bytes, contentType } = await read(record, options).finally(() => inFlight--)
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

async function read(record: Found, { channels, webhook, http }: Sources): Promise<AudioBytes> {
  const { _id, workspace } = record
  const place = findAudio(record)
  switch (place?.kind) {
    case undefined:
      throw new Problem('not_found', { detail: 'The message has no audio.' })
    case 'inline':
      return audioFromText(place.text)
    case 'kept': {
      const path = `/internal/workspaces/${workspace}/audio/${encodeURIComponent(_id)}`
      const text = await webhook.getBytes(path, { maxBytes: MAX_TEXT_BYTES, timeoutMs: WEBHOOK_TIMEOUT_MS })
      if (text === undefined) throw new Problem('not_found', { detail: 'The audio is not kept any more.' })
      return audioFromText(text.toString())
    }
    case 'media': {
      const channel = await channels.find(workspace, record.channel)
      if (channel === undefined) throw new Problem('not_found', { detail: 'The channel is gone.' })
      return fetchMedia({ http, channel, mediaId: place.mediaId, maxBytes: MAX_BYTES })
    }
  }
}
