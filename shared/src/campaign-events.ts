import { z } from 'zod'
import { personAddresses } from './consent.ts'
import { CAMPAIGN_EVENTS } from './event-types.ts'
import { jsonObject, safeInteger } from './json-object.ts'

/** The `type` on the broker of what happened to campaigns, templates and people's consent. */
export const CAMPAIGN_EVENTS_TYPE = 'campaigns.events.v1'

/** How many go together. */
const MAX_CAMPAIGN_EVENTS = 500

/** One of them: what a subscription gets of it is `data`. */
const campaignEvent = z.object({
  workspace: safeInteger,
  type: z.enum(CAMPAIGN_EVENTS),
  /** The subject, as `campaigns/<id>`: events of one subject leave in order. */
  record: z.string().min(1).max(256),
  /** Unique within the record; the same when it comes again. */
  key: z.string().min(1).max(256),
  at: z.iso.datetime(),
  data: jsonObject,
  /** Of whom it is, where it is of a person: nothing is made of somebody who was erased since. */
  addresses: personAddresses.optional(),
})
export type CampaignEvent = z.output<typeof campaignEvent>

/** Several as they go through the broker. */
export const publishedCampaignEvents = z.object({
  events: z.array(campaignEvent).min(1).max(MAX_CAMPAIGN_EVENTS),
})
