import { Problem } from '@parley/shared/problem'
import { sendSettings } from '@parley/shared/providers/complete-settings'
import type { MediaType } from '@parley/shared/providers/inbound'
import type { AcceptedFiles } from '@parley/shared/providers/outbound'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Channel } from '../channels.ts'
import { CallError, type HttpClient } from '../http/http-client.ts'
import { badly, problemOf } from './fetch-media.ts'
import { typeOf } from './media-bytes.ts'

const UPLOAD_MS = 30_000
const MAX_RESPONSE_BYTES = 64 * 1024
const UNKNOWN = 'application/octet-stream'

/** Types whose bytes begin in a way that is known: what says to be one and begins otherwise is refused by providers. */
const RECOGNISED = ['image/jpeg', 'image/png', 'application/pdf']

/** A file for a person. */
interface UploadedFile {
  bytes: Buffer
  contentType: string
  name: string
}

/** The rules of a channel's provider for files of a type. Throws `unsupported_media_type` where it takes none. */
export function acceptedBy(channel: Channel, contentType: string): AcceptedFiles {
  const { provider, accepts } = uploadRules(channel)
  const rules = accepts.find(({ contentTypes }) => contentTypes.includes(contentType))
  if (rules !== undefined) return rules
  const all = accepts.flatMap(({ contentTypes }) => contentTypes).join(', ')
  throw new Problem('unsupported_media_type', { detail: `${provider.description.label} takes ${all}.` })
}

function uploadRules({ callback }: Channel) {
  const provider = providerNamed(callback)
  const upload = provider?.outbound.media?.upload
  if (provider === undefined || upload === undefined)
    throw new Problem('unsupported_media_type', { detail: 'The channel takes no files.' })
  return { provider, ...upload }
}

/**
 * Gives a file to the channel's provider, in 30 s, and resolves with its id there. Throws `unsupported_media_type` for bytes
 * that are not of their type, `bad_gateway` with the provider's text, `unavailable`, `upstream_timeout`.
 */
export async function uploadMedia(options: {
  http: Pick<HttpClient, 'send'>
  channel: Channel
  file: UploadedFile
  signal?: AbortSignal
}): Promise<{ _id: string; type: MediaType }> {
  const { http, channel, file, signal } = options
  const { type } = acceptedBy(channel, file.contentType)
  requireItsBytes(file)
  const { provider, request, idIn } = uploadRules(channel)
  const found = sendSettings(provider, channel.config)
  if ('lacking' in found) throw badly(`The channel lacks what ${provider.description.label} needs.`)
  const { url, headers, fields } = request(found.settings, file)
  const body = await formOf(fields, file)
  const response = await http
    .send({
      ...{ method: 'POST', url, body: body.bytes, timeoutMs: UPLOAD_MS, maxBytes: MAX_RESPONSE_BYTES },
      headers: { ...headers, 'content-type': body.type },
      ...(signal && { signal }),
    })
    .catch((error: unknown) => {
      throw error instanceof CallError ? problemOf(error) : error
    })
  const _id = response.status < 300 ? idIn(response) : undefined
  if (_id !== undefined) return { _id, type }
  throw refusalOf(provider, response)
}

function requireItsBytes({ bytes, contentType }: UploadedFile): void {
  const found = typeOf(bytes)
  const isWrong = RECOGNISED.includes(contentType) ? found !== contentType : RECOGNISED.includes(found)
  if (!isWrong) return
  const what = found === UNKNOWN ? 'are something else' : `are ${found}`
  throw new Problem('unsupported_media_type', { detail: `The bytes ${what}, and no ${contentType}.` })
}

/** As browsers write forms. */
async function formOf(
  fields: Readonly<Record<string, string>>,
  { bytes, contentType, name }: UploadedFile,
): Promise<{ bytes: Buffer; type: string }> {
  const form = new FormData()
  for (const [key, value] of Object.entries(fields)) form.set(key, value)
  form.set('file', new Blob([new Uint8Array(bytes)], { type: contentType }), name)
  const written = new Response(form)
  return {
    bytes: Buffer.from(await written.arrayBuffer()),
    type: written.headers.get('content-type') ?? '',
  }
}

function refusalOf(
  { outbound, description }: Provider,
  response: Awaited<ReturnType<HttpClient['send']>>,
): Problem {
  const { status } = response
  if (status === 429 || status >= 500)
    return new Problem('unavailable', { detail: `${description.label} answered ${status}.` })
  const text = outbound.errorTextOf?.(response) ?? `It answered ${status}.`
  return badly(`${description.label} refused the file: ${text}`)
}
