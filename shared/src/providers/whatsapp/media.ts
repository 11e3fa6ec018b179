import { jsonOrUndefined } from '../../parse-json.ts'
import type { AcceptedFiles, MediaRequests } from '../outbound.ts'
import { own, textAt } from '../own.ts'
import type { Settings } from '../setting.ts'
import { addressOf, get, requestTo } from './api.ts'
import { MEDIA_ID } from './content.ts'

/** Where Meta keeps media; the token is for no other host but the API's own. */
const MEDIA_HOSTS = /\.(?:fbsbx\.com|facebook\.com|whatsapp\.net)$/
const NO_SUCH_THING = 100

const MIB = 1024 * 1024
/** As Meta documents them; larger documents than 16 MiB are left to links. */
const ACCEPTED: readonly AcceptedFiles[] = [
  { type: 'image', contentTypes: ['image/jpeg', 'image/png'], maxBytes: 5 * MIB },
  { type: 'video', contentTypes: ['video/mp4', 'video/3gpp'], maxBytes: 16 * MIB },
  {
    type: 'audio',
    contentTypes: ['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg'],
    maxBytes: 16 * MIB,
  },
  {
    type: 'document',
    contentTypes: [
      'text/plain',
      'application/pdf',
      'application/msword',
      'application/vnd.ms-excel',
      'application/vnd.ms-powerpoint',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    ],
    maxBytes: 16 * MIB,
  },
]

export const media: MediaRequests = {
  lookup: (mediaId, settings) => get(settings, mediaId),
  locate({ body }, settings) {
    const found = jsonOrUndefined(body)
    const url = textAt(found, 'url') ?? ''
    if (!/^https?:/i.test(url) || !URL.canParse(url)) return { kind: 'unknown' }
    if (!mayHaveToken(url, settings)) return { kind: 'foreign_host' }
    const contentType = textAt(found, 'mime_type')
    return {
      kind: 'found',
      request: requestTo(url, settings),
      ...(contentType !== undefined && { contentType }),
    }
  },
  // Meta says that there is no such thing with 400 and a code.
  isGone: ({ status, body }) =>
    status === 400 && own(jsonOrUndefined(body), 'error', 'code') === NO_SUCH_THING,
  upload: {
    accepts: ACCEPTED,
    request(settings, { contentType }) {
      const url = addressOf(settings, `${encodeURIComponent(settings.phoneNumberId ?? '')}/media`)
      const { headers } = requestTo(url, settings)
      return { url, headers, fields: { messaging_product: 'whatsapp', type: contentType } }
    },
    idIn({ body }) {
      const id = textAt(jsonOrUndefined(body), 'id')
      return id !== undefined && MEDIA_ID.test(id) ? id : undefined
    },
  },
}

function mayHaveToken(url: string, { apiUrl = '' }: Settings): boolean {
  const found = new URL(url)
  const isApi = found.origin === new URL(apiUrl).origin
  return isApi || (found.protocol === 'https:' && MEDIA_HOSTS.test(found.hostname))
}
