import { jsonObject, safeInteger } from '@parley/shared/json-object'
import type { FieldError } from '@parley/shared/problem'
import { z } from 'zod'
import { segmentFilter } from '../../segments/segment-filter.ts'
import { CAMPAIGN_STATES } from '../rules/campaign-state.ts'
import { dueTime, isInstant, isTimeZone } from '../rules/due-time.ts'
import { type CampaignDefinition, PAUSE_REASONS } from '../store/campaign-record.ts'

const MAX_VARIABLES = 100
const MAX_PEOPLE = 10_000
const MAX_TEXT = 1_024
const MAX_PRICES = 16
const STOP_AT = { share: 0.02, of: 500 }

const variable = z
  .union([
    z.strictObject({ text: z.string().min(1).max(MAX_TEXT) }),
    z.strictObject({
      attribute: z
        .string()
        .min(1)
        .max(64)
        .describe('`name`, `language`, or an attribute of the workspace’s people'),
      fallback: z
        .string()
        .min(1)
        .max(MAX_TEXT)
        .optional()
        .describe('For those who do not have it; without one they are left out'),
    }),
  ])
  .meta({ id: 'CampaignVariable' })

const clock = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'is not a time such as 21:00' })
const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, { error: 'is not a time zone such as America/Sao_Paulo' })

const schedule = z
  .strictObject({
    at: z.iso
      .datetime({ offset: true, local: true })
      .optional()
      .describe(
        'When it begins: an instant, or without an offset the wall clock’s time in `timeZone`. At once where it is left out',
      ),
    timeZone: timeZone.default('UTC').describe('Also that of people whose own is not known'),
    inEachTimeZone: z
      .boolean()
      .default(false)
      .describe(
        '`at` is the wall clock’s time where each person is. Whose time has gone by is written to at once',
      ),
    quietHours: z
      .strictObject({ from: clock, to: clock })
      .optional()
      .describe(
        'Nobody is written to in these hours of their own day; who is due then is written to after them',
      ),
    endsAt: z.iso.datetime({ offset: true }).optional().describe('Nobody is written to from then on'),
  })
  .meta({ id: 'CampaignSchedule' })

const audience = z
  .union([
    z.strictObject({
      segment: z
        .string()
        .min(1)
        .max(64)
        .describe('The `_id` of a segment, as it is when the campaign is scheduled'),
    }),
    z.strictObject({ filter: segmentFilter.describe('The filter of a segment that is not saved') }),
    z.strictObject({ import: z.uuid().describe('The `_id` of an import: whoever was in its file') }),
    z.strictObject({ people: z.array(z.uuid()).min(1).max(MAX_PEOPLE).describe('Their `_id`s') }),
    z.strictObject({ everybody: z.literal(true) }),
  ])
  .meta({ id: 'CampaignAudience' })

const price = z.number().positive().max(1e6)
const money = z
  .strictObject({
    amount: z.number().positive().max(1e9),
    perMessage: z
      .union([
        price,
        z
          .record(z.string().regex(/^[a-z_]{1,32}$/), price)
          .refine((prices) => Object.keys(prices).length > 0, { error: 'has no price' })
          .refine((prices) => Object.keys(prices).length <= MAX_PRICES, { error: 'has too many prices' }),
      ])
      .describe(
        'What one message costs, by the provider’s list of prices: the same for all, or by what it counts as, such as `marketing`; what is not named costs as the dearest',
      ),
    currency: z.string().regex(/^[A-Z]{3}$/, { error: 'is not a currency such as BRL' }),
  })
  .meta({ id: 'CampaignMoney' })

const fields = {
  name: z.string().min(1).max(200),
  channel: safeInteger.describe('The `_id` of the channel that it is sent from'),
  template: z
    .strictObject({ name: z.string().min(1).max(512), language: z.string().min(2).max(16) })
    .meta({ id: 'CampaignTemplate' }),
  variables: z
    .union([z.array(variable).max(MAX_VARIABLES), z.record(z.string().min(1).max(64), variable)])
    .describe('Of the template’s body, by position or by name'),
  more: jsonObject
    .optional()
    .describe('What else the template takes, as in a message: header, buttons, cards'),
  audience,
  schedule,
  messagesPerSecond: z
    .number()
    .positive()
    .max(1_000)
    .optional()
    .describe('Four fifths of what the number may send where it is left out, and at most that'),
  frequencyCap: z
    .strictObject({ messages: z.int().min(1).max(100), days: z.int().min(1).max(90) })
    .optional()
    .describe('Who got so many messages of other campaigns in so many days is left out'),
  requiresConsent: z
    .boolean()
    .describe('Only who has agreed is written to. Who has withdrawn it is left out in any case'),
  budget: z
    .strictObject({ messages: z.int().min(1).max(100_000_000).optional(), money: money.optional() })
    .optional(),
  holdoutPercent: z
    .number()
    .min(0)
    .max(99)
    .describe('So many of those who could be written to are not, to compare with'),
  stopAt: z
    .strictObject({ share: z.number().min(0.001).max(1), of: z.int().min(50).max(1_000) })
    .describe(
      'It pauses where more than this share of so many messages were refused, or as many people opted out',
    ),
}

/** Fields that may be changed while a campaign is not over. */
export const CHANGEABLE = ['name', 'messagesPerSecond', 'budget', 'stopAt'] as const

/** A campaign as it is sent. */
export const campaignBody = z
  .strictObject({
    ...fields,
    variables: fields.variables.default([]),
    schedule: schedule.prefault({}),
    requiresConsent: fields.requiresConsent.default(true),
    holdoutPercent: fields.holdoutPercent.default(0),
    stopAt: fields.stopAt.default(STOP_AT),
  })
  .meta({ id: 'NewCampaign', description: 'What is sent, to whom, and when' })

/** A merge patch of one: null takes a field away. */
export const campaignPatch = z
  .strictObject(
    Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, schema.nullish()])) as {
      [K in keyof typeof fields]: z.ZodOptional<z.ZodNullable<(typeof fields)[K]>>
    },
  )
  .meta({ id: 'CampaignPatch' })

const time = z.iso.datetime()

export const campaignView = z
  .object({
    _id: z.uuid(),
    ...fields,
    state: z.enum(CAMPAIGN_STATES).meta({ id: 'CampaignStatus' }),
    createdAt: time,
    updatedAt: time,
    startedAt: time.optional(),
    endedAt: time.optional(),
    paused: z
      .object({ reason: z.enum(PAUSE_REASONS), at: time })
      .optional()
      .describe('Why it is paused: by a person, or why it stopped by itself'),
    waiting: z
      .object({
        for: z
          .enum(['time', 'people_limit', 'in_flight', 'configuration', 'webhook', 'budget'])
          .describe('`people_limit`: as many people were written to in 24 hours as the account may'),
        until: time.optional(),
      })
      .optional()
      .describe('What it waits for while it runs'),
    isListed: z.boolean().describe('Whether all of its audience is known; its results grow until then'),
  })
  .meta({ id: 'Campaign', description: 'One message to many people' })

const AT = '2026-11-28T12:00:00.000Z'
export const CAMPAIGN_ID = '0198c0de-7a00-7000-8000-3f6d5a4b2c10'
export const campaignExample = {
  name: 'Black Friday',
  channel: 1,
  template: { name: 'welcome_offer', language: 'pt_BR' },
  variables: [{ attribute: 'name', fallback: 'cliente' }, { text: '20%' }],
  audience: { everybody: true as const },
  schedule: {
    at: '2026-11-27T09:00:00',
    timeZone: 'America/Sao_Paulo',
    inEachTimeZone: true,
    quietHours: { from: '21:00', to: '08:00' },
  },
  requiresConsent: true,
  holdoutPercent: 5,
  stopAt: STOP_AT,
}
export const campaignViewExample = {
  ...{
    _id: CAMPAIGN_ID,
    ...campaignExample,
    state: 'draft' as const,
    createdAt: AT,
    updatedAt: AT,
    isListed: false,
  },
}

/** Returns the contradictions in a definition. */
export function definitionErrors({
  schedule: { at, timeZone: zone, inEachTimeZone, endsAt },
  budget,
}: CampaignDefinition): FieldError[] {
  const errors: FieldError[] = []
  const add = (path: string, message: string) => errors.push({ path, code: 'contradiction', message })
  if (inEachTimeZone && at === undefined)
    add('/schedule/at', 'is missing: it is the time where each person is')
  if (inEachTimeZone && at !== undefined && isInstant(at))
    add('/schedule/at', 'has an offset, so it is one instant for all: leave that out')
  const begins =
    at === undefined ? undefined : dueTime({ at, timeZone: zone, inEachTimeZone: false }, undefined, 0)
  if (endsAt !== undefined && begins !== undefined && Date.parse(endsAt) <= begins)
    add('/schedule/endsAt', 'is not after it begins')
  if (budget !== undefined && budget.messages === undefined && budget.money === undefined)
    add('/budget', 'has neither messages nor money')
  return errors
}
