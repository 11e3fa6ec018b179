import { z } from 'zod'
import { safeInteger } from './json-object.ts'

/** The `type` on the broker of a status that a provider reports of something that was sent. */
export const STATUS_TYPE = 'message.status.v1'

/** Why the provider gave something up; `code` is null where it named none. */
const statusError = z.looseObject({
  code: safeInteger.nullable(),
  title: z.string().nullish(),
  message: z.string().nullish(),
  details: z.string().nullish(),
})

/** The price of a message, in the provider's words. */
const messagePricing = z.object({
  category: z.string(),
  type: z.string().nullable(),
  model: z.string().nullable(),
  billable: z.boolean().nullable(),
})
export type MessagePricing = z.output<typeof messagePricing>

/** The status that a provider reports of one send as it goes through the broker: the only definition of its shape. */
export const messageStatus = z.looseObject({
  workspace: safeInteger,
  /** External id of the channel whose webhook it came to. */
  channel: z.string(),
  /** The provider's id of what was sent. */
  providerId: z.string().min(1),
  /** The id that the send carried, where the provider gives it back; null where it carried none. */
  opaque: z.string().nullable(),
  /** `sent`, `delivered`, `read`, `failed`, or whatever the provider comes up with next. */
  status: z.string().min(1),
  /** When it happened by the provider's clock. */
  at: z.iso.datetime(),
  /** The person's address at the provider; null where it named none. */
  recipient: z.string().nullable(),
  errors: z.array(statusError).optional(),
  pricing: messagePricing.optional(),
})

export type MessageStatus = z.output<typeof messageStatus>
