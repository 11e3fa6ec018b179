import { z } from 'zod'
import { safeInteger } from './json-object.ts'

/** The `type` of a channel's notice on the broker. */
export const NOTICE_TYPE = 'channel.notice.v1'

/** Something that happened to a channel at its provider, as it goes through the broker: the only definition of its shape. */
export const channelNotice = z.looseObject({
  workspace: safeInteger,
  /** External id of the channel. */
  channel: z.string(),
  /** Its subject, in the provider's words. */
  field: z.string(),
  /** When it happened by the provider's clock; null where it did not say. */
  at: z.iso.datetime().nullable(),
  /** Its content, in a line. */
  text: z.string(),
  /** All that the provider sent of it. */
  value: z.unknown(),
})

export type ChannelNotice = z.output<typeof channelNotice>
