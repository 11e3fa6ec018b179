import type { IncomingMessage } from 'node:http'
import type { FairSlots } from '@parley/shared/fair-slots'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { MEDIA_TYPES } from '@parley/shared/providers/inbound'
import { z } from 'zod'
import type { Channels } from '../../channels/channels.ts'
import type { HttpClient } from '../../channels/http/http-client.ts'
import { acceptedBy, uploadMedia } from '../../channels/media/upload-media.ts'
import { inMediaSlot } from '../media/media-routes.ts'
import { requireThread, type ThreadStore } from './find-thread.ts'
import { channelQuery } from './list-threads.ts'
import { threadErrors, threadParameter } from './thread-schemas.ts'

const MAX_NAME = 240
const ANY_TYPE = 'application/octet-stream'

/** The dependencies of taking files for replies. */
export interface Files extends ThreadStore {
  channels: Pick<Channels, 'find'>
  http: Pick<HttpClient, 'send'>
  mediaSlots: FairSlots
}

export const uploadFile = route({
  method: 'POST',
  path: '/rest/threads/{id}/files',
  access: 'write',
  id: 'uploadFile',
  tag: 'threads',
  summary: 'Give the provider a file for a reply',
  description:
    'The body is the file, of the type that `Content-Type` says; 16 MiB at most, images 5 MiB. It stays with the provider of the channel, which has it for 30 days: a reply sends it as the object of its `type` with this `id`.',
  parameters: [threadParameter],
  query: channelQuery.extend({
    name: z
      .string()
      .min(1)
      .max(MAX_NAME)
      .optional()
      .describe('Its name, which the person of a document sees'),
  }),
  body: {
    schema: z.string().meta({ format: 'binary' }),
    example: 'Opening hours: 9 to 5.',
    types: ['text/plain', 'image/*', 'video/*', 'audio/*', 'application/*'],
  },
  response: {
    schema: z
      .object({
        _id: z.string().describe('The provider’s id of it'),
        type: z.enum(MEDIA_TYPES).describe('What it is sent as'),
        contentType: z.string(),
        bytes: z.number().int(),
      })
      .meta({ id: 'UploadedFile' }),
    example: { _id: '1037543291543636', type: 'document', contentType: 'text/plain', bytes: 22 },
  },
  errors: [...threadErrors, 'body_too_large', 'unsupported_media_type', 'malformed_body', 'bad_gateway'],
  handle: (files: Files) => async (req, res, asked) => {
    const { channel: named, name } = asked.query()
    const thread = await requireThread(files, res, { id: req.params.id, channel: named, access: 'write' })
    const channel = await files.channels.find(thread.workspace, thread.channel)
    if (channel === undefined) throw new Problem('not_found', { detail: 'The channel is gone.' })
    const contentType = typeIn(req)
    const { type, maxBytes } = acceptedBy(channel, contentType)
    const { _id, bytes } = await inMediaSlot(files, res, thread, async (signal) => {
      const read = await readBytes(req, maxBytes)
      const file = { bytes: read, contentType, name: name ?? type }
      return { ...(await uploadMedia({ http: files.http, channel, file, signal })), bytes: read.length }
    })
    res.json({ _id, type, contentType, bytes })
  },
})

/** Throws `unsupported_media_type` for a body that is compressed. */
function typeIn({ headers }: IncomingMessage): string {
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new Problem('unsupported_media_type', { detail: 'Send the file as it is, not compressed.' })
  return (headers['content-type'] ?? ANY_TYPE).split(';', 1)[0]?.trim().toLowerCase() ?? ANY_TYPE
}

/** Throws `body_too_large`, `malformed_body` for one that breaks off, `validation_failed` for an empty one. */
async function readBytes(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new Problem('body_too_large', { detail: `It may have ${maxBytes} bytes.` })
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('malformed_body', { detail: 'The body broke off.', cause: error })
  }
  if (size > 0) return Buffer.concat(chunks)
  throw new Problem('validation_failed', { errors: [{ path: '', code: 'empty', message: 'is empty' }] })
}
