import type { Inbound, Preference } from '../inbound.ts'
import { own, textAt } from '../own.ts'
import { contactsIn } from './contacts.ts'
import { contentOf } from './content.ts'
import { documentation } from './documentation.ts'
import { personIn } from './persons.ts'
import { timeOf } from './time.ts'
import { updatesIn } from './updates.ts'

const SIGNATURE = /^sha256=([0-9a-f]{64})$/i
const MAX_CHALLENGE = 1_024

/** Meta's webhooks: a handshake with the verify token, and payloads that are signed with the app secret. */
export const inbound: Inbound = {
  source: 'meta',
  handshake(query, { verifyToken: expected }) {
    const challenge = own(query, 'hub.challenge')
    const isAsked = own(query, 'hub.mode') === 'subscribe' && typeof challenge === 'string'
    return {
      given: textAt(query, 'hub.verify_token'),
      expected,
      errors: { wrong: 'verify_token_wrong', notConfigured: 'verify_token_not_configured' },
      response: isAsked && challenge.length <= MAX_CHALLENGE ? challenge : undefined,
    }
  },
  proof(headers, { appSecret: expected }) {
    const header = headers['x-hub-signature-256']
    return {
      kind: 'hmac',
      hash: 'sha256',
      encoding: 'hex',
      given: SIGNATURE.exec(typeof header === 'string' ? header : '')?.[1],
      expected,
      errors: { wrong: 'signature_wrong', notConfigured: 'app_secret_not_configured' },
    }
  },
  receiver: 'phoneNumberId',
  updates: updatesIn,
  errors: {
    verify_token_wrong: "The verify token was not the channel's config.verifyToken.",
    verify_token_not_configured: 'The provider asked, but the channel has no config.verifyToken.',
    signature_wrong: "Something came that was not signed with the channel's config.appSecret.",
    app_secret_not_configured: 'Something came, but the channel has no config.appSecret.',
    foreign_number:
      'Some messages were left out: they are of a number (config.phoneNumberId) that is neither this channel’s nor that of another channel with the same config.appSecret.',
  },
  foreign: 'foreign_number',
  contentOf: (message) => contentOf(own(message, 'meta')),
  preferencesIn,
  documentation,
}

/** The changes of this field say what people have chosen in WhatsApp. */
const FIELD = 'user_preferences'
const MARKETING = 'marketing_messages'
const STATUSES: Readonly<Record<string, Preference['status']>> = { stop: 'withdrawn', resume: 'granted' }

/** The choices in a notice: that people want marketing messages of the business no more, or again. */
function preferencesIn({ field, value }: { field: string; value: unknown }): Preference[] {
  const found = field === FIELD ? own(value, FIELD) : undefined
  if (!Array.isArray(found)) return []
  const named = own(value, 'contacts')
  const contacts = contactsIn(Array.isArray(named) ? named : [], { isStorable: () => true })
  return found.flatMap((raw: unknown) => {
    const choice = own(raw, 'value')
    const status =
      typeof choice === 'string' && Object.hasOwn(STATUSES, choice) ? STATUSES[choice] : undefined
    const person = personIn(raw, contacts.senderOf(raw))
    if (own(raw, 'category') !== MARKETING || status === undefined || person === undefined) return []
    const at = timeOf(own(raw, 'timestamp'))
    return { person, status, ...(at !== undefined && { at: new Date(at) }) }
  })
}
