import type { Provider } from '../provider.ts'
import { addresses } from './addresses.ts'
import { versionWarning } from './api.ts'
import { description, settings } from './description.ts'
import { inbound } from './inbound.ts'
import { outbound } from './outbound.ts'
import { templates } from './templates.ts'

/** WhatsApp by Meta's Cloud API. */
export const whatsapp: Provider = {
  name: 'whatsapp',
  description,
  settings,
  warnings(given, now) {
    const message = versionWarning(given, now)
    return message === undefined
      ? []
      : [{ key: given.apiVersion === undefined ? 'apiUrl' : 'apiVersion', message }]
  },
  addresses,
  inbound,
  outbound,
  templates,
  simulated: (url, number) => ({
    ...{ phoneNumberId: number, accessToken: 'demo', businessAccountId: number },
    apiUrl: new URL('/v23.0', url).href,
  }),
}
