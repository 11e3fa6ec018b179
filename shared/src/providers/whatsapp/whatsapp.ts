import type { Provider } from '../provider.ts'
import { addresses } from './addresses.ts'
import { description, settings } from './description.ts'
import { inbound } from './inbound.ts'
import { outbound } from './outbound.ts'

/** WhatsApp by Meta's Cloud API. */
export const whatsapp: Provider = { name: 'whatsapp', description, settings, addresses, inbound, outbound }
