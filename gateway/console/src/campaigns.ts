import type { Schemas } from '@parley/client'
import { call, listAll, type Page } from './api.ts'
import { count } from './format.ts'
import { t } from './language.ts'
import type { Document } from './resources.ts'
import { may } from './rights.ts'
import { filterInWords } from './segments.ts'
import type { Template, TemplateChannel } from './template-accounts.ts'

export type Campaign = Schemas['Campaign']
export type CampaignResults = Schemas['CampaignResults']
export type CampaignEstimate = Schemas['CampaignEstimate']
export type CampaignVariable = Schemas['CampaignVariable']
type CampaignStatus = Campaign['state']

export const STATES: readonly CampaignStatus[] = [
  ...(['draft', 'scheduled', 'running', 'paused', 'finished', 'cancelled'] as const),
]
export const TONES = {
  ...({ draft: 'neutral', scheduled: 'info', running: 'good', paused: 'warn' } as const),
  ...({ finished: 'neutral', cancelled: 'neutral' } as const),
} satisfies Record<CampaignStatus, string>

/** Nothing has become of it yet. */
export const isToCome = ({ state }: Pick<Campaign, 'state'>): boolean =>
  state === 'draft' || state === 'scheduled'
export const isOver = ({ state }: Pick<Campaign, 'state'>): boolean =>
  state === 'finished' || state === 'cancelled'

const LEFT_OUT: Record<string, string> = {
  no_address: t('no address that the channel can write to'),
  no_consent: t('never gave consent'),
  opted_out: t('withdrew consent'),
  holdout: t('not written to, to compare with'),
  missing_variable: t('a variable has no value for them'),
  frequency_cap: t('got enough of other campaigns'),
  erased: t('erased meanwhile'),
  joined: t('the same person as another one'),
  ended: t('it had ended before their turn'),
  cancelled: t('it was cancelled before their turn'),
  budget: t('the budget was used up'),
  invalid: t('the message would not be one'),
}
const PAUSED: Record<string, string> = {
  person: t('by somebody of the team'),
  channel_missing: t('its channel was deleted'),
  template_disabled: t('the provider has disabled its template'),
  template_paused: t('its template is not sent at the moment'),
  template_changed: t('its template takes other variables than when it began'),
  category_changed: t('its template counts as something else, which may cost more; resume it to agree'),
  account_restricted: t('the provider restricts the account'),
  quality_low: t('the quality of number or template is low'),
  refusals: t('too many messages were refused'),
  audience_slow: t('looking for its audience takes too long'),
  opt_outs: t('too many people opted out'),
}
const WAITS: Record<string, string> = {
  time: t('the time of those who come next'),
  people_limit: t('the next day: as many people were written to as the account may'),
  in_flight: t('messages that are under way'),
  configuration: t('the configuration service'),
  webhook: t('the webhook service'),
  budget: t('a larger budget'),
}

/** One price, or each with what it is of. */
export const pricesInWords = (price: number | Record<string, number>): string =>
  typeof price === 'number'
    ? count(price)
    : Object.entries(price)
        .map(([category, one]) => `${category} ${count(one)}`)
        .join(', ')

export const leftOutInWords = (reason: string): string => LEFT_OUT[reason] ?? reason
export const pausedInWords = (reason: string): string => PAUSED[reason] ?? reason
export const waitInWords = (what: string): string => WAITS[what] ?? what

/** Whom a campaign is for, in words. */
export function audienceInWords({ audience }: Pick<Campaign, 'audience'>): string {
  if ('everybody' in audience) return t('everybody')
  if ('segment' in audience) return t('the segment {segment}', { segment: audience.segment })
  if ('import' in audience) return t('whoever was in an import')
  if ('filter' in audience) return filterInWords(audience.filter)
  return t('{count, plural, one {# person} other {# people}} by name', { count: audience.people.length })
}

/** The names of channels by id, of those that may be read. */
export async function namesOfChannels(): Promise<ReadonlyMap<number, string>> {
  if (!may('read', 'channels')) return new Map()
  const channels = await listAll<Document>('/rest/channels')
  return new Map(channels.map(({ _id, name, extId }) => [_id, name || (extId ?? '')]))
}

/** The template of a campaign; undefined where it is not known, or may not be read. */
export async function templateOf(
  { channel, template }: Pick<Campaign, 'channel' | 'template'>,
  channels: readonly TemplateChannel[],
): Promise<Template | undefined> {
  const account = channels.find(({ _id }) => _id === channel)?.account
  if (account === undefined || !may('read', 'templates')) return undefined
  const { data } = await call<Page<Template>>('GET', '/rest/templates', { query: { ...template, account } })
  return data[0]
}
