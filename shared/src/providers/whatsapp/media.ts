import { jsonOrUndefined } from '../../parse-json.ts'
import type { MediaRequests } from '../outbound.ts'
import { own, textAt } from '../own.ts'
import type { Settings } from '../setting.ts'
import { get, requestTo } from './api.ts'

/** Where Meta keeps media; the token is for no other host but the API's own. */
const MEDIA_HOSTS = /\.(?:fbsbx\.com|facebook\.com|whatsapp\.net)$/
const NO_SUCH_THING = 100

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
}

function mayHaveToken(url: string, { apiUrl = '' }: Settings): boolean {
  const found = new URL(url)
  const isApi = found.origin === new URL(apiUrl).origin
  return isApi || (found.protocol === 'https:' && MEDIA_HOSTS.test(found.hostname))
}
