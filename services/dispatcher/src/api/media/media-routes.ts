import type { Authorizer } from '@parley/shared/authorizer'
import { FairSlots } from '@parley/shared/fair-slots'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import type { Response } from 'express'
import { z } from 'zod'
import { untilAborted } from '../../channels/http/until-aborted.ts'
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
import { idParameter } from '../messages/message-schemas.ts'

const QUERY_MS = 5_000
/** Media with up to 16 MiB in memory each, from when they are asked for until they are handed out. */
const LIMITS = {
  ...{ of: 'media', total: 16, each: [8], protectedMs: 2_000 },
  queue: { total: 256, each: 32, ms: 4_000 },
}

const AUDIO_TYPES = [
  ...['audio/ogg', 'audio/mpeg', 'audio/wav', 'audio/mp4', 'audio/amr', 'audio/*'],
  'application/octet-stream',
]

/** The dependencies of reading media. */
export interface Media extends MediaSources {
  collections: Pick<Collections, 'messages'>
  authorizer: Authorizer
  mediaSlots: FairSlots
}

/** Slots for media that are fetched: each waits up to 4 s for one, and gives way to workspaces that have fewer (503). */
export const createMediaSlots = (): FairSlots => new FairSlots(LIMITS)

export const readMessageAudio = route({
  method: 'GET',
  path: '/rest/messages/{id}/audio',
  access: 'read',
  id: 'readAudio',
  tag: 'messages',
  summary: "Read a message's audio",
  description: 'The bytes, wherever they are kept: in the message, with us, or with the provider.',
  parameters: [idParameter],
  response: { schema: z.string().meta({ format: 'binary' }), example: 'OggS', types: AUDIO_TYPES },
  errors: ['not_found', 'bad_gateway'],
  handle: (media: Media) => async (req, res) => {
    const record = await recordOf(req.params, res, media)
    hand(res, record, await readAudio(record, media, inSlot(media, res, record)))
  },
})

export const readMessageMedia = route({
  method: 'GET',
  path: '/rest/messages/{id}/media',
  access: 'read',
  id: 'readMedia',
  tag: 'messages',
  summary: 'Read what came with a message',
  description:
    'The bytes of its image, video, document, sticker or audio, 16 MiB at most, from wherever they are. What has no bytes (location, contacts, the answer to buttons, lists and forms, a reaction, an order) is JSON: its `type`, and under the name of the type what the provider says of it.',
  parameters: [idParameter],
  response: {
    schema: z.string().meta({ format: 'binary' }),
    example: 'OggS',
    types: [...AUDIO_TYPES, 'image/*', 'video/*', 'text/plain', 'text/csv', 'application/*'],
  },
  errors: ['not_found', 'bad_gateway'],
  handle: (media: Media) => async (req, res) => {
    const record = await recordOf(req.params, res, media)
    const read = await readMedia(record, media, inSlot(media, res, record))
    if (read.kind === 'bytes') hand(res, record, read)
    else res.set('cache-control', 'private, no-store').json(read.json)
  },
})

const inSlot =
  (media: Media, res: Response, record: MediaRecord): Fetching =>
  (fetch) =>
    inMediaSlot(media, res, record, fetch)

/** Does something that has media in memory, in a slot of the workspace until the response is over. Throws `unavailable` where there is none. */
export async function inMediaSlot<T>(
  { mediaSlots }: Pick<Media, 'mediaSlots'>,
  res: Response,
  { workspace }: Pick<MediaRecord, 'workspace'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const preempt = new AbortController()
  const release = await mediaSlots.enter([workspace], () => {
    preempt.abort(PREEMPTED)
    if (res.headersSent) res.destroy()
  })
  res.once('close', release)
  // Its caller hung up while it waited, and it closes no second time.
  if (res.destroyed) {
    release()
    throw new Problem('unavailable')
  }
  return untilAborted(preempt.signal, () => work(preempt.signal))
}

const PREEMPTED = new Problem('unavailable', { detail: 'Media of other workspaces were waiting for this.' })

async function recordOf(
  { id: _id }: { id: string },
  res: Response,
  { collections: { messages }, authorizer }: Media,
): Promise<MediaRecord> {
  const filter = { $and: [{ _id }, await visibleTo(res, { authorizer, access: 'read' })] }
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
