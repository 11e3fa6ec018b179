import { z } from 'zod'
import { safeInteger } from './json-object.ts'

/** The purposes that a person may consent to: advertising, and messages about their orders and the like. */
export const PURPOSES = ['marketing', 'service'] as const
export type Purpose = (typeof PURPOSES)[number]

/** Where a change of consent comes from. */
const CONSENT_SOURCES = [
  /** The person wrote one of the words. */
  'message',
  /** The person pressed a button that says so. */
  'button',
  /** The person said so to the provider, in its settings. */
  'provider',
  /** The provider refused a send because the person had said so to it. */
  'refusal',
  /** Somebody of the team, or another system, by the API. */
  'api',
  /** A file of people. */
  'import',
] as const

export const consentStatus = z.enum(['granted', 'withdrawn'])

/** Addresses as `kind:value`; all of one person, where they are given together. */
export const personAddresses = z.array(z.string().min(1).max(256)).min(1).max(64)

/** A person's change of consent: what is stored, published and asked for by other services. */
export const consentChange = z.object({
  addresses: personAddresses,
  purpose: z.enum(PURPOSES),
  status: consentStatus,
  source: z.enum(CONSENT_SOURCES),
  /** The text that the person wrote, or the basis of the consent. */
  text: z.string().max(1_024).optional(),
  at: z.iso.datetime(),
})

/** The `type` on the broker of a change of consent. */
export const CONSENT_TYPE = 'person.consent.v1'

/** A change of consent as it goes through the broker; `id` is the same when it comes again. */
export const publishedConsent = consentChange.extend({ workspace: safeInteger, id: z.string().max(256) })
export type PublishedConsent = z.output<typeof publishedConsent>

/** The `type` on the broker of what is known of people. */
export const PEOPLE_TYPE = 'person.seen.v1'

/** The data about a person that a conversation contains. */
const seenPerson = z.object({
  workspace: safeInteger,
  addresses: personAddresses,
  /** Addresses that they said they left, at that time: whoever writes from there later is somebody else. */
  left: personAddresses.optional(),
  name: z.string().max(1_024).optional(),
  /** When something was last said, by whomever. */
  at: z.iso.datetime(),
  /** When the person last wrote, where they did. */
  lastContactAt: z.iso.datetime().optional(),
})
export type SeenPerson = z.output<typeof seenPerson>

/** People as they go through the broker, several at once. */
export const publishedPeople = z.object({ people: z.array(seenPerson).max(500) })

/** The `type` on the broker of what says that a person is erased: what came before it counts for nothing. */
export const ERASED_TYPE = 'person.erased.v1'

export const publishedErasure = z.object({ workspace: safeInteger, addresses: personAddresses })

/** The name of a workspace's config with its own words, whose owner is the workspace. */
export const CONSENT_CONFIG = 'consent'
/** Payloads of buttons that opt out and in, whatever is written on them. */
export const CONSENT_PAYLOADS: Readonly<Record<string, z.output<typeof consentStatus>>> = {
  opt_out: 'withdrawn',
  opt_in: 'granted',
}
