import type { Schemas } from '@parley/client'
import { anyOf, count } from './format.ts'
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

/** Returns the missing part of the first condition that can't be asked yet, in words; undefined where all can be. */
export function missingIn(filter: SegmentFilter): string | undefined {
  for (const { group, name } of GROUPS)
    for (const [at, one] of (filter[group] ?? []).entries()) {
      const missing = missingInCondition(one)
      if (missing !== undefined) return `${t('{name}, condition {at}', { name, at: at + 1 })}: ${missing}`
    }
  return undefined
}

const MAX_DAYS = 3_650

function missingInCondition(one: Condition): string | undefined {
  if ('tag' in one) return isEmpty(one.tag) ? t('the tag is missing.') : undefined
  if ('language' in one) return isEmpty(one.language) ? t('the language is missing.') : undefined
  if ('timeZone' in one) return isEmpty(one.timeZone) ? t('the time zone is missing.') : undefined
  if ('attribute' in one) return missingInAttribute(one)
  if (!('contactedInDays' in one)) return undefined
  const { contactedInDays: days } = one
  return Number.isInteger(days) && days >= 1 && days <= MAX_DAYS
    ? undefined
    : t('the days are missing, from 1 to {most}.', { most: count(MAX_DAYS) })
}

function missingInAttribute(one: Extract<Condition, { attribute: string }>): string | undefined {
  if (isEmpty(one.attribute)) return t('the attribute is missing.')
  if ('exists' in one) return undefined
  if ('in' in one) return one.in.length === 0 ? t('its values are missing.') : undefined
  return isEmpty(one.from) && isEmpty(one.below) ? t('from or below is missing.') : undefined
}

const isEmpty = (value: unknown): boolean => value === undefined || String(value).trim() === ''

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
