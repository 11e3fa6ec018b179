import { defined } from '@parley/shared/defined'
import { Problem } from '@parley/shared/problem'
import { sendSettings } from '@parley/shared/providers/complete-settings'
import type { ProviderRequest } from '@parley/shared/providers/http'
import type { MediaRequests } from '@parley/shared/providers/outbound'
import { providerOfSource } from '@parley/shared/providers/registry'
import type { Channel } from '../channels.ts'
import { CallError, type HttpClient } from '../http/http-client.ts'
import { type MediaBytes, safeType, typeOf } from './media-bytes.ts'

const LOOKUP_MS = 4_000
const BYTES_MS = 12_000
const MAX_LOOKUP_BYTES = 64 * 1024

/** Media that a provider has. */
export interface ProviderMedia {
  /** Whom the message with it came from. */
  source: string
  mediaId: string
}

/**
 * Fetches media from a provider: first where they are, then the bytes, in 16 s together, or until the signal. Throws
 * `not_found` when the provider no longer has them, `bad_gateway`, `unavailable` or `upstream_timeout`.
 */
export async function fetchMedia(options: {
  http: Pick<HttpClient, 'getBytes'>
  channel: Channel
  media: ProviderMedia
  maxBytes: number
  signal?: AbortSignal
}): Promise<MediaBytes> {
  const { http, channel, media, maxBytes, signal } = options
  const provider = providerOfSource(media.source)
  const requests = provider?.outbound.media
  if (provider === undefined || requests === undefined)
    throw new Problem('not_found', { detail: 'The provider has no media.' })
  const found = sendSettings(provider, channel.config)
  if ('lacking' in found) throw badly(`The channel lacks what ${provider.description.label} needs.`)
  const bounds = defined({ signal })
  const answer = await get(http, requests, {
    ...requests.lookup(media.mediaId, found.settings),
    ...{ timeoutMs: LOOKUP_MS, maxBytes: MAX_LOOKUP_BYTES, ...bounds },
  })
  const place = requests.locate({ ...answer, body: answer.body.toString() }, found.settings)
  if (place.kind !== 'found') throw badly(UNUSABLE[place.kind])
  const { body } = await get(http, requests, {
    ...place.request,
    ...{ timeoutMs: BYTES_MS, maxBytes, ...bounds },
  })
  return { bytes: body, contentType: safeType(place.contentType) ?? typeOf(body) }
}

const UNUSABLE = {
  unknown: 'The provider does not say where the media are.',
  foreign_host: 'The provider names a host that the access token is not for.',
}

interface Bounds {
  timeoutMs: number
  maxBytes: number
  signal?: AbortSignal
}

async function get(
  http: Pick<HttpClient, 'getBytes'>,
  { isGone }: MediaRequests,
  call: ProviderRequest & Bounds,
) {
  const answer = await http.getBytes(call).catch((error: unknown) => {
    throw problemOf(error)
  })
  const { status } = answer
  if (status >= 200 && status < 300) return answer
  if (status === 404 || isGone?.({ ...answer, body: answer.body.toString() }))
    throw new Problem('not_found', { detail: 'The provider no longer has it.' })
  if (status === 429 || status >= 500)
    throw new Problem('unavailable', { detail: `The provider answered ${status}.` })
  throw badly(`The provider refused with ${status}.`)
}

/** The problem that a call of a provider that failed is to whoever asked for it. */
export function problemOf(cause: unknown): unknown {
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

/** The provider is the reason that it failed. */
export const badly = (detail: string, cause?: unknown): Problem =>
  new Problem('bad_gateway', { detail, cause })
