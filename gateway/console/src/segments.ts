import type { Schemas } from '@parley/client'
import { call } from './api.ts'

export type Segment = Schemas['Segment']
export type SegmentFilter = Schemas['SegmentFilter']
export type Condition = NonNullable<SegmentFilter['all']>[number]

/** The groups of a filter, and what has to be so of the conditions in each. */
export const GROUPS = [
  { group: 'all', name: 'All of these' },
  { group: 'any', name: 'One of these' },
  { group: 'none', name: 'None of these' },
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
  if ('tag' in one) return `has the tag ${one.tag}`
  if ('language' in one) return `speaks ${one.language}`
  if ('timeZone' in one) return `is in ${one.timeZone}`
  if ('import' in one) return `was in the import ${one.import}`
  if ('campaign' in one)
    return `was in a campaign: ${one.campaign.id}${one.campaign.state ? `, ${one.campaign.state}` : ''}`
  if ('consent' in one) return `${one.consent} is ${one.is}`
  if ('attribute' in one) return attributeInWords(one)
  if ('contactedInDays' in one) return `wrote in the last ${one.contactedInDays} days`
  if ('lastContact' in one)
    return one.lastContact === 'never' ? 'never wrote' : `wrote ${timesOf(one.lastContact)}`
  return JSON.stringify(one)
}

function attributeInWords(one: Extract<Condition, { attribute: string }>): string {
  if ('in' in one) return `${one.attribute} is ${one.in.join(' or ')}`
  if ('exists' in one) return one.exists ? `has ${one.attribute}` : `has no ${one.attribute}`
  const from = one.from === undefined ? '' : ` from ${one.from}`
  const below = one.below === undefined ? '' : ` below ${one.below}`
  return `${one.attribute} is${from}${below}`
}

const timesOf = ({ from, below }: { from?: string; below?: string }): string =>
  [from && `from ${from.slice(0, 10)}`, below && `before ${below.slice(0, 10)}`].filter(Boolean).join(' ')

/** A filter in words; everybody where it has no conditions. */
export function filterInWords({ all = [], any = [], none = [] }: SegmentFilter): string {
  const parts = [
    ...all.map(conditionInWords),
    ...(any.length === 0 ? [] : [any.map(conditionInWords).join(' or ')]),
    ...none.map((one) => `not: ${conditionInWords(one)}`),
  ]
  return parts.length === 0 ? 'everybody' : parts.join('; ')
}
