import type { InternalClient } from '@parley/shared/internal-client'
import { Problem } from '@parley/shared/problem'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Channels } from '../channels.ts'
import type { HttpClient } from '../http/http-client.ts'
import { type AudioBytes, audioFromText } from './audio-bytes.ts'
import { findAudio } from './find-audio.ts'
import { fetchMedia } from './meta-media.ts'

const WEBHOOK_TIMEOUT_MS = 10_000
const MAX_BYTES = 16 * 1024 * 1024
// As base64, and what a data URL begins with.
const MAX_TEXT_BYTES = 24 * 1024 * 1024

/** What a message's audio is found by. */
export type AudioRecord = Pick<MessageRecord, '_id' | 'workspace' | 'channel' | 'source' | 'body'>

export interface AudioSources {
  channels: Pick<Channels, 'find'>
  webhook: Pick<InternalClient, 'getBytes'>
  http: Pick<HttpClient, 'getBytes'>
}

/**
 * The bytes of a message's audio, 16 MiB at most, wherever they are. Throws `not_found` when there is none (any more),
 * `bad_gateway`, `unavailable` or `upstream_timeout`.
 */
export async function readAudio(
  record: AudioRecord,
  { channels, webhook, http }: AudioSources,
): Promise<AudioBytes> {
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
