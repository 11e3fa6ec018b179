import { z } from 'zod'
import { ATTRIBUTE_TYPES, type AttributeTypes } from '../attributes/attribute-store.ts'
import { attributeErrors } from '../attributes/attribute-values.ts'
import { readLanguage } from '../people/person-schema.ts'
import { PURPOSES } from '../store/person-record.ts'
import { RECIPIENT_STATES } from '../store/recipient-record.ts'

const MAX_CONDITIONS = 20
const MAX_VALUES = 50
const MAX_DAYS = 3_650

const text = z.string().min(1).max(64)
const value = z.union([z.string().max(1_000), z.number(), z.boolean()])
const time = z.iso.datetime({ offset: true })

/** One thing that is so of a person or not. */
const condition = z.union([
  z.strictObject({ tag: text.describe('Has this tag') }),
  z.strictObject({
    language: text
      .refine((given) => readLanguage(given) !== undefined, { error: 'is no language such as pt or pt_BR' })
      .describe('`pt_BR`; `pt` is all of Portuguese'),
  }),
  z.strictObject({ timeZone: text }),
  z.strictObject({ import: z.uuid().describe('Was in this import; the latest 20 of a person count') }),
  z.strictObject({
    campaign: z
      .strictObject({
        id: z.uuid(),
        state: z
          .enum([...RECIPIENT_STATES, 'replied'])
          .optional()
          .meta({ id: 'SegmentCampaignState' }),
      })
      .describe('Was in the audience of this campaign; with `state`, is in that one of it, or has replied'),
  }),
  z.strictObject({ consent: z.enum(PURPOSES), is: z.enum(['granted', 'withdrawn', 'unknown']) }),
  z.strictObject({
    attribute: text,
    in: z.array(value).min(1).max(MAX_VALUES).describe('Has one of these values'),
  }),
  z.strictObject({
    attribute: text,
    from: value.optional().describe('This, or more'),
    below: value.optional().describe('Less than this'),
  }),
  z.strictObject({ attribute: text, exists: z.boolean() }),
  z.strictObject({ lastContact: z.literal('never') }),
  z.strictObject({
    lastContact: z
      .strictObject({ from: time.optional(), below: time.optional() })
      .describe('When they last wrote'),
  }),
  z.strictObject({
    contactedInDays: z.number().int().min(1).max(MAX_DAYS).describe('They wrote in the last days'),
  }),
])
export type Condition = z.output<typeof condition>
export type CampaignCondition = Extract<Condition, { campaign: unknown }>

const conditions = z.array(condition).max(MAX_CONDITIONS)

/** Whom a segment has: who meets all of `all`, one of `any` where there are some, and none of `none`. */
export const segmentFilter = z
  .strictObject({ all: conditions.optional(), any: conditions.optional(), none: conditions.optional() })
  .meta({ id: 'SegmentFilter', description: 'Meets all of `all`, one of `any`, and none of `none`' })
export type SegmentFilter = z.output<typeof segmentFilter>

/** The conditions of a filter on campaigns; those that everybody has to meet come first. */
export const campaignConditions = ({ all = [], any = [], none = [] }: SegmentFilter): CampaignCondition[] =>
  [...all, ...any, ...none].filter((one) => 'campaign' in one)

/** Returns the errors in the names of a filter, in a workspace that has these attributes and campaigns. */
export function filterErrors(
  filter: SegmentFilter,
  { types, campaigns }: { types: AttributeTypes; campaigns: ReadonlySet<string> },
) {
  return (['all', 'any', 'none'] as const).flatMap((part) =>
    (filter[part] ?? []).flatMap((one, at) => {
      const path = `/filter/${part}/${at}`
      if ('campaign' in one) {
        const message = 'is not a campaign of this workspace'
        return campaigns.has(one.campaign.id) ? [] : [{ path, code: 'unknown_reference', message }]
      }
      if (!('attribute' in one)) return []
      const given = 'in' in one ? one.in : 'exists' in one ? [] : [one.from, one.below]
      const values = given.filter((each) => each !== undefined)
      const errors = types.has(one.attribute)
        ? values.flatMap((each) => attributeErrors(types, { [one.attribute]: each }))
        : attributeErrors(types, { [one.attribute]: ATTRIBUTE_TYPES[0] })
      return errors.slice(0, 1).map(({ code, message }) => ({ path, code, message }))
    }),
  )
}
