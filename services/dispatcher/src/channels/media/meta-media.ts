import { defined } from '@parley/shared/defined'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { z } from 'zod'
import type { Channel } from '../channels.ts'
import { type Call, CallError, type HttpClient } from '../http/http-client.ts'
import { channelConfig } from '../whatsapp.ts'
import { type MediaBytes, safeType, typeOf } from './media-bytes.ts'

const LOOKUP_MS = 4_000
const BYTES_MS = 12_000
const MAX_LOOKUP_BYTES = 64 * 1024
/** Where Meta keeps media; the token is for no other host but the API's own. */
const MEDIA_HOSTS = /\.(?:fbsbx\.com|facebook\.com|whatsapp\.net)$/

const mediaSchema = z.object({ url: z.url({ protocol: /^https?$/ }), mime_type: z.string().optional() })

/**
 * Fetches media from Meta: first where it is, then the bytes, in 16 s together, or until the signal. Throws `not_found`
 * when Meta no longer has it, `bad_gateway`, `unavailable` or `upstream_timeout`.
 */
export async function fetchMedia(options: {
  http: Pick<HttpClient, 'getBytes'>
  channel: Channel
  mediaId: string
  maxBytes: number
  signal?: AbortSignal
}): Promise<MediaBytes> {
  const { http, channel, mediaId, maxBytes, signal } = options
  const config = channelConfig.safeParse(channel.config)
  if (!config.success) throw badly('The channel lacks what WhatsApp needs.')
  const { apiUrl, accessToken } = config.data
  const call = { headers: { authorization: `Bearer ${accessToken}` }, ...defined({ signal }) }
  const found = await get(http, {
    ...call,
    url: `${apiUrl.replace(/\/$/, '')}/${mediaId}`,
    timeoutMs: LOOKUP_MS,
    maxBytes: MAX_LOOKUP_BYTES,
  })
  const media = mediaSchema.safeParse(jsonOrUndefined(found.body.toString()))
  if (!media.success) throw badly('The provider does not say where the media are.')
  const { url, mime_type } = media.data
  if (!mayHaveToken(url, apiUrl)) throw badly('The provider names a host that the access token is not for.')
  const { body } = await get(http, { ...call, url, timeoutMs: BYTES_MS, maxBytes })
  return { bytes: body, contentType: safeType(mime_type) ?? typeOf(body) }
}

function mayHaveToken(url: string, apiUrl: string): boolean {
  const media = new URL(url)
  const isApi = media.origin === new URL(apiUrl).origin
  return isApi || (media.protocol === 'https:' && MEDIA_HOSTS.test(media.hostname))
}

async function get(http: Pick<HttpClient, 'getBytes'>, call: Omit<Call, 'method' | 'body'>) {
  const answer = await http.getBytes(call).catch((error: unknown) => {
    throw problemOf(error)
  })
  const { status } = answer
  if (status >= 200 && status < 300) return answer
  if (status === 404 || isGone(answer))
    throw new Problem('not_found', { detail: 'The provider no longer has it.' })
  if (status === 429 || status >= 500)
    throw new Problem('unavailable', { detail: `The provider answered ${status}.` })
  throw badly(`The provider refused with ${status}.`)
}

const goneSchema = z.object({ error: z.object({ code: z.literal(100) }) })

/** Meta says that there is no such thing with 400 and a code. */
function isGone({ status, body }: { status: number; body: Buffer }): boolean {
  return status === 400 && goneSchema.safeParse(jsonOrUndefined(body.toString())).success
}

function problemOf(cause: unknown): unknown {
  if (!(cause instanceof CallError)) return cause
  switch (cause.failure) {
    case 'refused_target':
      return badly('The URL leads to a private, loopback or link-local address.', cause)
    case 'answer_too_large':
      return badly('The media are too large.', cause)
    case 'not_sent':
      return new Problem('unavailable', { detail: 'The provider could not be reached.', cause })
    case 'no_answer':
      return new Problem('upstream_timeout', { detail: 'The provider did not answer in time.', cause })
  }
}

const badly = (detail: string, cause?: unknown): Problem => new Problem('bad_gateway', { detail, cause })
