import { randomUUID } from 'node:crypto'
import { defined } from '@parley/shared/defined'
import type { JsonObject } from '@parley/shared/json-object'
import { type Route, route } from '@parley/shared/openapi/route'
import { allows } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { findPeoplePage } from '../../segments/segment-people.ts'
import { peopleOf } from '../../store/people-collection.ts'
import type { PersonRecord } from '../../store/person-record.ts'
import { LEFT_OUT_REASONS } from '../../store/recipient-record.ts'
import { previewTemplate } from '../../templates/preview-template.ts'
import { preview, viewOf } from '../../templates/template-schema.ts'
import type { TemplateRecord } from '../../templates/template-store.ts'
import { priceOf } from '../rules/budget.ts'
import { ineligible } from '../rules/eligibility.ts'
import { attributesIn, fillVariables } from '../rules/variables.ts'
import { audienceOf } from '../run/audience.ts'
import { type CampaignFacts, readFacts } from '../run/campaign-facts.ts'
import { type CampaignChannel, hasAddress, messageTo } from '../run/campaign-parts.ts'
import { estimateAudience } from '../run/estimate-audience.ts'
import { findTemplateRecord } from '../run/find-template.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import {
  type CampaignRoutesNeeded,
  campaignParameter,
  requireCampaign,
  requireMaySend,
} from './campaign-access.ts'

const QUERY_MS = 5_000
const PREVIEWED = 3
const LOOKED_AT = 200
const DAY_SECONDS = 24 * 60 * 60
const MAX_BYTES = 16 * 1024

const one = { tag: 'campaigns', access: 'write', parameters: [campaignParameter] } as const
const count = z.number().int()

/** The facts with the channel, and with the rule on people of who asks. */
async function planned(
  needed: CampaignRoutesNeeded,
  { res, params }: { res: { locals: Record<string, unknown> }; params: { id: string } },
): Promise<{ campaign: CampaignRecord; facts: CampaignFacts; channel: CampaignChannel }> {
  const caller = callerOf(res)
  const found = await requireCampaign(needed, { caller, params, access: 'write' })
  const { peopleRule: _before, ...rest } = found
  const campaign = { ...rest, ...(await requireMaySend(needed, { caller, ...found })) }
  const facts = await readFacts(needed.campaigns, campaign)
  if (facts.channel === undefined)
    throw new Problem('validation_failed', {
      errors: [
        { path: '/channel', code: 'unknown_reference', message: 'is not a channel of this workspace' },
      ],
    })
  return { campaign, facts, channel: facts.channel }
}

const estimateCampaign = route({
  ...one,
  method: 'POST',
  path: '/rest/campaigns/{id}/estimate',
  id: 'estimateCampaign',
  summary: 'Estimate a campaign',
  description:
    'How many would be written to, who is left out, how long it takes and what it costs, as of now. Of a large audience as many are looked at as 4 seconds allow, and `isExact` is false.',
  response: {
    schema: z
      .object({
        audience: count,
        recipients: count,
        leftOutBy: z.array(z.object({ reason: z.enum(LEFT_OUT_REASONS), recipients: count })),
        isExact: z.boolean(),
        messagesPerSecond: z.number(),
        seconds: count.describe('How long sending takes, without quiet hours and people’s own time'),
        days: count.describe('Of how many days the account’s limit of people takes; 1 where it has none'),
        peopleADay: count
          .nullable()
          .describe('What the account may write to first in 24 hours; null where that is not known'),
        cost: z.object({ amount: z.number(), currency: z.string() }).nullable(),
        stop: z.string().nullable().describe('Why it would stop at once; null where nothing is in the way'),
      })
      .meta({ id: 'CampaignEstimate' }),
    example: {
      ...{ audience: 1_000, recipients: 940, isExact: true, messagesPerSecond: 64, seconds: 15, days: 1 },
      leftOutBy: [{ reason: 'no_consent' as const, recipients: 60 }],
      ...{ peopleADay: 100_000, cost: { amount: 58.75, currency: 'USD' }, stop: null },
    },
  },
  errors: ['invalid_id', 'not_found', 'validation_failed', 'reference_forbidden'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res) => {
    const { campaign, facts, channel } = await planned(needed, { res, params: req.params })
    const { purpose, template } = facts
    const categories = [...(campaign.categories ?? []), ...(template?.category ? [template.category] : [])]
    const estimate = await estimateAudience(needed.campaigns, campaign, { channel, purpose, categories })
    const { recipients } = estimate
    const { money } = campaign.definition.budget ?? {}
    const days = facts.peopleADay === null ? 1 : Math.max(1, Math.ceil(recipients / facts.peopleADay))
    res.json({
      ...estimate,
      messagesPerSecond: facts.perSecond,
      seconds: Math.ceil(recipients / Math.max(facts.perSecond, 0.01)) + (days - 1) * DAY_SECONDS,
      ...{ days, peopleADay: facts.peopleADay },
      cost:
        money === undefined
          ? null
          : {
              amount: Math.round(recipients * priceOf(money.perMessage, template?.category) * 100) / 100,
              currency: money.currency,
            },
      stop: facts.stop ?? null,
    })
  },
})

const previewCampaign = route({
  ...one,
  method: 'POST',
  path: '/rest/campaigns/{id}/preview',
  id: 'previewCampaign',
  summary: 'Preview a campaign for three people',
  description: 'The first of its audience who would be written to, each with what they would get.',
  response: {
    schema: z
      .object({
        data: z.array(
          z.object({
            person: z.string(),
            name: z.string().optional(),
            variables: z.union([z.array(z.string()), z.record(z.string(), z.string())]),
            shown: preview
              .optional()
              .describe('The template as they would see it; missing where it is not synchronised'),
          }),
        ),
        attributes: z.array(z.string()).describe('What variables are filled from'),
      })
      .meta({ id: 'CampaignPreview' }),
    example: {
      data: [
        {
          person: '0198c0de-1111-7000-8000-3f6d5a4b2c10',
          name: 'João',
          variables: ['João', '20%'],
          shown: { body: 'João, 20% for you', buttons: [], fits: true },
        },
      ],
      attributes: ['name'],
    },
  },
  errors: ['invalid_id', 'not_found', 'validation_failed', 'reference_forbidden'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res) => {
    const { campaign, facts, channel } = await planned(needed, { res, params: req.params })
    const { definition } = campaign
    const { people } = await findPeoplePage(needed.connection, audienceOf(campaign), { limit: LOOKED_AT })
    const rules = {
      _id: campaign._id,
      purpose: facts.purpose,
      ...definition,
      hasAddress: (one: object) => hasAddress(channel, one as PersonRecord),
    }
    const readable = await needed.authorizer.decide(callerOf(res), 'templates', 'read')
    const found = await findTemplateRecord(needed.connection, {
      ...{ workspace: campaign.workspace, channel: campaign.channel, ...definition.template },
    })
    const template = found !== undefined && allows(readable, viewOf(found)) ? found : undefined
    const chosen = people.filter((person) => ineligible(person, rules) === undefined).slice(0, PREVIEWED)
    const data = chosen.map((person) => {
      const filled = fillVariables(definition.variables, person)
      const variables = filled.kind === 'filled' ? filled.variables : []
      const shown = template && shownAs(template, { ...definition.more, variables })
      return { person: person._id, ...defined({ name: person.name, shown }), variables }
    })
    res.json({ data, attributes: attributesIn(definition.variables).all })
  },
})

/** Undefined where what the campaign gives makes no message of it: a test or the estimate says why. */
function shownAs(template: TemplateRecord, given: JsonObject): z.output<typeof preview> | undefined {
  try {
    return previewTemplate(template, given)
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}

const testCampaign = route({
  ...one,
  method: 'POST',
  path: '/rest/campaigns/{id}/test',
  id: 'testCampaign',
  summary: 'Send a campaign to one address, to see it',
  description:
    'A message of its own, in any state of the campaign; it counts in no result. Variables are filled from the person of that address, else from fallback texts.',
  body: {
    schema: z.strictObject({
      address: z
        .string()
        .max(256)
        .regex(/^[a-z]{1,32}:.+$/, { error: 'is not an address such as phone:5511988887777' }),
    }),
    example: { address: 'phone:5511988887777' },
    maxBytes: MAX_BYTES,
  },
  response: {
    schema: z
      .object({ message: z.string().describe('The `_id` of the message in the log') })
      .meta({ id: 'CampaignTest' }),
    example: { message: '48341280-0a59-806f-9695-a1f7fc5fde77' },
  },
  errors: ['invalid_id', 'not_found'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res, asked) => {
    const { campaign, channel } = await planned(needed, { res, params: req.params })
    const { address } = asked.body()
    const { workspace } = campaign
    const rule = campaign.peopleRule === undefined ? {} : JSON.parse(campaign.peopleRule)
    const known = await peopleOf(needed.connection).findOne(
      { $and: [{ workspace, addresses: address }, rule] },
      { maxTimeMS: QUERY_MS },
    )
    const person = { ...known, addresses: [address] }
    if (!hasAddress(channel, person))
      throw new Problem('validation_failed', {
        errors: [{ path: '/address', code: 'no_address', message: 'is none that the channel can write to' }],
      })
    const { template, variables: given } = campaign.definition
    const names = Object.fromEntries(attributesIn(given).required.map((name) => [name, `[${name}]`]))
    const filled = fillVariables(given, {
      name: '[name]',
      language: template.language,
      ...known,
      attributes: { ...names, ...known?.attributes },
    })
    const variables = filled.kind === 'filled' ? filled.variables : []
    const message = messageTo(campaign, { channel, person, recipient: 'test', variables })
    const sent = z.object({ data: z.array(z.object({ messageId: z.string() })).length(1) }).parse(
      await needed.campaigns.webhook.post(`/internal/workspaces/${workspace}/campaigns/messages`, {
        ...{ campaign: campaign._id, channelId: channel._id },
        messages: [{ recipient: `test-${randomUUID()}`, message }],
      }),
    )
    res.json({ message: sent.data[0]?.messageId })
  },
})

export const planCampaignRoutes: readonly Route<CampaignRoutesNeeded>[] = [
  estimateCampaign,
  previewCampaign,
  testCampaign,
]
