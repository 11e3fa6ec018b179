import type { mongo } from 'mongoose'
import { readLanguage } from '../people/person-schema.ts'
import type { PersonRecord } from '../store/person-record.ts'
import type { CampaignCondition, Condition, SegmentFilter } from './segment-filter.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

type Query = mongo.Filter<PersonRecord>

/**
 * The query of a filter, to be AND-ed with the workspace and what the caller may read. `members` says who meets a condition
 * on a campaign, which people's records do not say.
 */
export function segmentQuery(
  { all = [], any = [], none = [] }: SegmentFilter,
  members: (one: CampaignCondition) => readonly string[] = () => [],
): Query {
  const now = new Date()
  const queries = (conditions: Condition[]) =>
    conditions.map((one) => ('campaign' in one ? { _id: { $in: [...members(one)] } } : queryOf(one, now)))
  const parts: Query[] = queries(all)
  if (any.length > 0) parts.push({ $or: queries(any) })
  if (none.length > 0) parts.push({ $nor: queries(none) })
  return parts.length === 0 ? {} : { $and: parts }
}

function queryOf(one: Exclude<Condition, CampaignCondition>, now: Date): Query {
  if ('tag' in one) return { tags: one.tag.trim() }
  if ('language' in one) return languageQuery(readLanguage(one.language) ?? one.language)
  if ('timeZone' in one) return { timeZone: one.timeZone }
  if ('import' in one) return { imports: one.import }
  if ('consent' in one) {
    const status = `consent.${one.consent}.status`
    return one.is === 'unknown' ? { [status]: { $exists: false } } : { [status]: one.is }
  }
  if ('attribute' in one) return attributeQuery(one)
  if ('contactedInDays' in one)
    return { lastContactAt: { $gte: new Date(now.getTime() - one.contactedInDays * DAY_MS) } }
  if (one.lastContact === 'never') return { lastContactAt: { $exists: false } }
  const { from, below } = one.lastContact
  return {
    lastContactAt: {
      $exists: true,
      ...(from !== undefined && { $gte: new Date(from) }),
      ...(below !== undefined && { $lt: new Date(below) }),
    },
  }
}

/** A language without a region is all of its regions. */
function languageQuery(language: string): Query {
  // As languages are written, nothing else is between: a longer one goes on with a small letter.
  return { language: language.includes('_') ? language : { $gte: language, $lt: `${language}\`` } }
}

function attributeQuery(one: Extract<Condition, { attribute: string }>): Query {
  const field = `attributes.${one.attribute}`
  if ('in' in one) return { [field]: { $in: one.in } } as Query
  if ('exists' in one) return { [field]: { $exists: one.exists } } as Query
  return {
    [field]: {
      $exists: true,
      ...(one.from !== undefined && { $gte: one.from }),
      ...(one.below !== undefined && { $lt: one.below }),
    },
  } as Query
}
