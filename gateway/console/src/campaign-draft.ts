import type { Schemas } from '@parley/client'
import type { Campaign, CampaignVariable } from './campaigns.ts'
import { localTime } from './format.ts'
import type { SegmentFilter } from './segments.ts'
import type { Template, TemplateProvider } from './template-accounts.ts'

/** The value of a variable: a text, or an attribute with a text for people who lack it. */
interface VariableDraft {
  attribute: string
  text: string
}

/** A campaign as one types it. */
export interface CampaignDraft {
  name: string
  channel: string
  /** The `_id` of the template. */
  template: string
  /** Under the keys of the template's fields. */
  variables: Readonly<Record<string, VariableDraft>>
  /** Of header, buttons and cards, under the keys of their fields. */
  more: Readonly<Record<string, string>>
  /** `as_is`: as the campaign has it, which is none of the others. */
  audience: 'everybody' | 'segment' | 'filter' | 'as_is'
  segment: string
  filter: SegmentFilter
  at: string
  timeZone: string
  inEachTimeZone: boolean
  quietFrom: string
  quietTo: string
  endsAt: string
  messagesPerSecond: string
  requiresConsent: boolean
  budgetMessages: string
  budgetAmount: string
  perMessage: string
  /** By category: they stay where no price is typed. */
  prices?: Readonly<Record<string, number>>
  currency: string
  holdoutPercent: string
  capMessages: string
  capDays: string
}

/**
 * The keys of the fields that a template's variables are filled from: by position or by name, as a message has them. The
 * other fields are of its header, buttons and cards.
 */
export function variableKeys(
  { templates }: TemplateProvider,
  template: Pick<Template, 'components'>,
): readonly string[] | Readonly<Record<string, string>> {
  const fields = templates.fieldsOf(template)
  const keys = templates.argumentsOf(template, Object.fromEntries(fields.map(({ key }) => [key, key])))
  return (keys.variables ?? []) as string[] | Record<string, string>
}

/** Where a new campaign begins. */
export const emptyDraft = (): CampaignDraft => ({
  ...{ name: '', channel: '', template: '', variables: {}, more: {} },
  ...{ audience: 'everybody', segment: '', filter: { all: [{ tag: '' }] } },
  ...{ at: '', timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, inEachTimeZone: false },
  ...{ quietFrom: '', quietTo: '', endsAt: '', messagesPerSecond: '', requiresConsent: true },
  ...{ budgetMessages: '', budgetAmount: '', perMessage: '', currency: '', holdoutPercent: '0' },
  ...{ capMessages: '', capDays: '' },
})

const textOf = (value: number | undefined): string => (value === undefined ? '' : String(value))
const HAS_OFFSET = /(?:Z|[+-]\d\d:\d\d)$/

/** A campaign as it is to be changed, with the template that it has. */
export function draftOf(
  campaign: Campaign,
  template: Template | undefined,
  provider: TemplateProvider,
): CampaignDraft {
  const { schedule, budget, frequencyCap, audience } = campaign
  const isInstant = schedule.at !== undefined && HAS_OFFSET.test(schedule.at)
  const { timeZone } = emptyDraft()
  return {
    ...emptyDraft(),
    ...{ name: campaign.name, channel: String(campaign.channel), template: template?._id ?? '' },
    variables:
      template === undefined ? {} : variablesIn(campaign.variables, variableKeys(provider, template)),
    ...audienceIn(audience),
    at: isInstant ? localTime(schedule.at) : (schedule.at ?? '').slice(0, 16),
    timeZone: isInstant ? timeZone : (schedule.timeZone ?? timeZone),
    inEachTimeZone: schedule.inEachTimeZone ?? false,
    quietFrom: schedule.quietHours?.from ?? '',
    quietTo: schedule.quietHours?.to ?? '',
    endsAt: localTime(schedule.endsAt),
    messagesPerSecond: textOf(campaign.messagesPerSecond),
    requiresConsent: campaign.requiresConsent,
    budgetMessages: textOf(budget?.messages),
    budgetAmount: textOf(budget?.money?.amount),
    ...pricesIn(budget?.money?.perMessage),
    currency: budget?.money?.currency ?? '',
    holdoutPercent: String(campaign.holdoutPercent),
    capMessages: textOf(frequencyCap?.messages),
    capDays: textOf(frequencyCap?.days),
  }
}

function pricesIn(
  price: number | Readonly<Record<string, number>> | undefined,
): Pick<CampaignDraft, 'perMessage' | 'prices'> {
  return typeof price === 'object' ? { perMessage: '', prices: price } : { perMessage: textOf(price) }
}

function audienceIn(audience: Campaign['audience']): Partial<CampaignDraft> {
  if ('everybody' in audience) return { audience: 'everybody' }
  if ('segment' in audience) return { audience: 'segment', segment: audience.segment }
  return 'filter' in audience ? { audience: 'filter', filter: audience.filter } : { audience: 'as_is' }
}

function variablesIn(
  variables: Campaign['variables'],
  keys: ReturnType<typeof variableKeys>,
): Record<string, VariableDraft> {
  const given = new Map(Object.entries(variables))
  return Object.fromEntries(
    Object.entries(keys).flatMap(([place, key]) => {
      const one = given.get(place) as CampaignVariable | undefined
      if (one === undefined) return []
      return [
        [
          key,
          'text' in one
            ? { attribute: '', text: one.text }
            : { attribute: one.attribute, text: one.fallback ?? '' },
        ],
      ]
    }),
  )
}

type Body = Partial<Schemas['NewCampaign']>

/** Returns the body to send for a draft; a field that the draft leaves out is null, as a change has it. */
export function bodyOf(draft: CampaignDraft, template: Template, provider: TemplateProvider): Body {
  const { name, channel, inEachTimeZone, timeZone, requiresConsent } = draft
  const keys = variableKeys(provider, template)
  const more = moreOf(draft, template, provider)
  const body = {
    ...{ name, channel: Number(channel), requiresConsent },
    template: { name: template.name, language: template.language },
    variables: Array.isArray(keys)
      ? keys.map((key) => variableOf(draft.variables[key]))
      : Object.fromEntries(
          Object.entries(keys).map(([place, key]) => [place, variableOf(draft.variables[key])]),
        ),
    ...(more !== undefined && { more }),
    ...(draft.audience !== 'as_is' && { audience: audienceOf(draft) }),
    schedule: {
      ...{ timeZone, inEachTimeZone },
      ...(draft.at !== '' && { at: `${draft.at}:00` }),
      ...(draft.quietFrom !== '' && { quietHours: { from: draft.quietFrom, to: draft.quietTo } }),
      ...(draft.endsAt !== '' && { endsAt: new Date(draft.endsAt).toISOString() }),
    },
    messagesPerSecond: numberOf(draft.messagesPerSecond),
    budget: budgetOf(draft),
    frequencyCap:
      draft.capMessages === ''
        ? null
        : { messages: Number(draft.capMessages), days: Number(draft.capDays || 7) },
    holdoutPercent: Number(draft.holdoutPercent || 0),
  }
  return body as Body
}

const numberOf = (text: string): number | null => (text === '' ? null : Number(text))

const variableOf = ({ attribute, text }: VariableDraft = { attribute: '', text: '' }): CampaignVariable =>
  attribute === '' ? { text } : { attribute, ...(text !== '' && { fallback: text }) }

function audienceOf({ audience, segment, filter }: CampaignDraft): object {
  if (audience === 'segment') return { segment }
  return audience === 'filter' ? { filter } : { everybody: true }
}

function budgetOf({
  budgetMessages,
  budgetAmount,
  perMessage,
  prices,
  currency,
}: CampaignDraft): object | null {
  if (budgetMessages === '' && budgetAmount === '') return null
  return {
    ...(budgetMessages !== '' && { messages: Number(budgetMessages) }),
    ...(budgetAmount !== '' && {
      money: {
        amount: Number(budgetAmount),
        perMessage: perMessage === '' && prices !== undefined ? prices : Number(perMessage),
        currency: currency.toUpperCase(),
      },
    }),
  }
}

/** Undefined where nothing of it was typed: then it stays as it is. */
function moreOf(
  { more }: CampaignDraft,
  template: Template,
  { templates }: TemplateProvider,
): object | undefined {
  if (Object.values(more).every((one) => one === '')) return undefined
  const { variables: _variables, ...rest } = templates.argumentsOf(template, more)
  return rest
}

/** A new campaign has no fields that are null. */
export const withoutNulls = (body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)) as Body
