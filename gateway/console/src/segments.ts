import type { Schemas } from '@parley/client'
import { call } from './api.ts'
import { anyOf } from './format.ts'
import { t } from './language.ts'
import { wordOf } from './words.ts'

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
  if ('import' in one) return t('was in the import {id}', { id: one.import })
  if ('campaign' in one)
    return [
      t('was in the campaign {id}', { id: one.campaign.id }),
      one.campaign.state && wordOf(one.campaign.state),
    ]
      .filter(Boolean)
      .join(', ')
  if ('consent' in one) return t('{consent} is {is}', { consent: wordOf(one.consent), is: wordOf(one.is) })
  if ('attribute' in one) return attributeInWords(one)
  if ('contactedInDays' in one)
    return t('wrote in the last {days, plural, one {# day} other {# days}}', { days: one.contactedInDays })
  if ('lastContact' in one)
    return one.lastContact === 'never' ? t('never wrote') : timesInWords(one.lastContact)
  return JSON.stringify(one)
}

function attributeInWords(one: Extract<Condition, { attribute: string }>): string {
  const { attribute } = one
  if ('in' in one) return t('{attribute} is {values}', { attribute, values: anyOf(one.in.map(String)) })
  if ('exists' in one)
    return one.exists ? t('has {attribute}', { attribute }) : t('has no {attribute}', { attribute })
  const { from, below } = one
  if (from === undefined) return t('{attribute} is below {below}', { attribute, below: String(below) })
  if (below === undefined) return t('{attribute} is from {from}', { attribute, from: String(from) })
  return t('{attribute} is from {from} below {below}', {
    attribute,
    from: String(from),
    below: String(below),
  })
}

function timesInWords({ from, below }: { from?: string; below?: string }): string {
  const [first, last] = [from?.slice(0, 10), below?.slice(0, 10)]
  if (first === undefined) return t('wrote before {last}', { last: last ?? '' })
  return last === undefined
    ? t('wrote from {first}', { first })
    : t('wrote from {first} before {last}', { first, last })
}

/** A filter in words; everybody where it has no conditions. */
export function filterInWords({ all = [], any = [], none = [] }: SegmentFilter): string {
  const parts = [
    ...all.map(conditionInWords),
    ...(any.length === 0 ? [] : [anyOf(any.map(conditionInWords))]),
    ...none.map((one) => t('not: {condition}', { condition: conditionInWords(one) })),
  ]
  return parts.length === 0 ? t('everybody') : parts.join('; ')
}
