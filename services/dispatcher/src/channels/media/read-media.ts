import { defined } from '@parley/shared/defined'
import type { InternalClient } from '@parley/shared/internal-client'
import { Problem } from '@parley/shared/problem'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Channels } from '../channels.ts'
import type { HttpClient } from '../http/http-client.ts'
import { fetchMedia } from './fetch-media.ts'
import { findAudio, findMedia, findSentMedia, type MediaPlace } from './find-media.ts'
import { audioFromText, type MediaBytes } from './media-bytes.ts'

const WEBHOOK_TIMEOUT_MS = 10_000
const MAX_BYTES = 16 * 1024 * 1024
// As base64, and what a data URL begins with.
const MAX_TEXT_BYTES = 24 * 1024 * 1024

/** The fields that a message's media are found by. */
export type MediaRecord = Pick<MessageRecord, '_id' | 'workspace' | 'channel' | 'source' | 'body'>

export interface MediaSources {
  channels: Pick<Channels, 'find'>
  webhook: Pick<InternalClient, 'getBytes'>
  http: Pick<HttpClient, 'getBytes'>
}

/** Has bytes fetched that are not in the message itself; it may abort that by the signal. */
export type Fetching = (fetch: (signal?: AbortSignal) => Promise<MediaBytes>) => Promise<MediaBytes>

/** With the provider of a source, which is not that of the message. */
type SentPlace = Extract<MediaPlace, { kind: 'media' }> & { source: string }

const atOnce: Fetching = (fetch) => fetch()

/** Media as they are: bytes, or what the message says in its provider's own form. */
type Media = (MediaBytes & { kind: 'bytes'; fileName?: string }) | { kind: 'content'; json: object }

/**
 * A message's media, 16 MiB at most, wherever they are. Throws `not_found` when there are none (any more),
 * `bad_gateway`, `unavailable` or `upstream_timeout`.
 */
export async function readMedia(
  record: MediaRecord,
  sources: MediaSources,
  fetching = atOnce,
): Promise<Media> {
  const place = findMedia(record) ?? sentPlace(record)
  if (place === undefined) throw new Problem('not_found', { detail: 'The message has no media.' })
  if (place.kind === 'content')
    return { kind: 'content', json: { type: place.type, [place.type]: place.content } }
  const bytes = await bytesAt(place, record, { ...sources, fetching })
  const { fileName } = place.kind === 'media' ? place : {}
  return { kind: 'bytes', ...bytes, ...(fileName !== undefined && { fileName }) }
}

/** Returns the place of media that were sent to the person, and are at the provider. */
function sentPlace(record: MediaRecord): SentPlace | undefined {
  const sent = findSentMedia(record)
  if (sent === undefined) return undefined
  const { type, id: mediaId, fileName, source } = sent
  return { kind: 'media', type, mediaId, source, ...defined({ fileName }) }
}

/** The bytes of a message's audio; throws as {@link readMedia}. */
export async function readAudio(
  record: MediaRecord,
  sources: MediaSources,
  fetching = atOnce,
): Promise<MediaBytes> {
  const place = findAudio(record)
  if (place === undefined || place.kind === 'content')
    throw new Problem('not_found', { detail: 'The message has no audio.' })
  return bytesAt(place, record, { ...sources, fetching })
}

async function bytesAt(
  place: Exclude<MediaPlace, { kind: 'content' }> | SentPlace,
  { _id, workspace, channel: extId, source }: MediaRecord,
  { channels, webhook, http, fetching }: MediaSources & { fetching: Fetching },
): Promise<MediaBytes> {
  switch (place.kind) {
    case 'inline':
      return audioFromText(place.text)
    case 'kept':
      return fetching(async () => {
        const path = `/internal/workspaces/${workspace}/audio/${encodeURIComponent(_id)}`
        const text = await webhook.getBytes(path, { maxBytes: MAX_TEXT_BYTES, timeoutMs: WEBHOOK_TIMEOUT_MS })
        if (text === undefined) throw new Problem('not_found', { detail: 'The audio is not kept any more.' })
        return audioFromText(text.toString())
      })
    case 'media': {
      const channel = await channels.find(workspace, extId)
      if (channel === undefined) throw new Problem('not_found', { detail: 'The channel is gone.' })
      const media = { source: 'source' in place ? place.source : source, mediaId: place.mediaId }
      const options = { http, channel, media, maxBytes: MAX_BYTES }
      return fetching((signal) => fetchMedia({ ...options, ...defined({ signal }) }))
    }
  }
}
