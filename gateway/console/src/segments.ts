import type { Schemas } from '@parley/client'
import { call } from './api.ts'
import { t } from './language.ts'

export type Segment = Schemas['Segment']
export type SegmentFilter = Schemas['SegmentFilter']
export type Condition = NonNullable<SegmentFilter['all']>[number]

/** The groups of a filter, and what has to be so of the conditions in each. */
export const GROUPS = [
  { group: 'all', name: t('All of these') },
  { group: 'any', name: t('One of these') },
  { group: 'none', name: t('None of these') },
] as const

/** How many people a filter finds, of those that may be read. */
export async function countOf(filter: SegmentFilter, signal?: AbortSignal): Promise<number> {
  const { count } = await call<{ count: number }>('POST', '/rest/segments/count', {
    body: { filter },
    signal,
  })
  return count
}

/** A condition in words. */
export function conditionInWords(one: Condition): string {
  if ('tag' in one) return t('has the tag {tag}', { tag: one.tag })
  if ('language' in one) return t('speaks {language}', { language: one.language })
  if ('timeZone' in one) return t('is in {timeZone}', { timeZone: one.timeZone })
  if ('import' in one) return t('was in the import {import}', { import: one.import })
  if ('campaign' in one)
    return t('was in a campaign: {id}{value}', { id: one.campaign.id, value: one.campaign.state ? `, ${one.campaign.state}` : '' })
  if ('consent' in one) return t('{consent} is {is}', { consent: one.consent, is: one.is })
  if ('attribute' in one) return attributeInWords(one)
  if ('contactedInDays' in one) return t('wrote in the last {contactedInDays} days', { contactedInDays: one.contactedInDays })
  if ('lastContact' in one)
    return one.lastContact === 'never' ? t('never wrote') : t('wrote {timesOf}', { timesOf: timesOf(one.lastContact) })
  return JSON.stringify(one)
}

function attributeInWords(one: Extract<Condition, { attribute: string }>): string {
  if ('in' in one) return t('{attribute} is {in}', { attribute: one.attribute, in: one.in.join(' or ') })
  if ('exists' in one) return one.exists ? t('has {attribute}', { attribute: one.attribute }) : t('has no {attribute}', { attribute: one.attribute })
  const from = one.from === undefined ? '' : ` ${t('from {from}', { from: one.from })}`
  const below = one.below === undefined ? '' : ` ${t('below {below}', { below: one.below })}`
  return t('{attribute} is{from}{below}', { attribute: one.attribute, from, below })
}

const timesOf = ({ from, below }: { from?: string; below?: string }): string =>
  [from && `from ${from.slice(0, 10)}`, below && `before ${below.slice(0, 10)}`].filter(Boolean).join(' ')

/** A filter in words; everybody where it has no conditions. */
export function filterInWords({ all = [], any = [], none = [] }: SegmentFilter): string {
  const parts = [
    ...all.map(conditionInWords),
    ...(any.length === 0 ? [] : [any.map(conditionInWords).join(' or ')]),
    ...none.map((one) => t('not: {condition}', { condition: conditionInWords(one) })),
  ]
  return parts.length === 0 ? 'everybody' : parts.join('; ')
}
