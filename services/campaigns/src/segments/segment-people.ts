import { Problem } from '@parley/shared/problem'
import type { Connection, mongo } from 'mongoose'
import { AGREED_LANGUAGE_INDEX, LIST_INDEX, peopleOf, TAG_INDEX } from '../store/people-collection.ts'
import type { PersonRecord } from '../store/person-record.ts'
import { type Condition, campaignConditions, type SegmentFilter } from './segment-filter.ts'
import { type AskedPeople, allParts, countMembers, nextPart } from './segment-part.ts'
import { segmentQuery } from './segment-query.ts'

const QUERY_MS = 10_000
const COUNT_MS = 8_000
/** So many people are looked up in a campaign at once. */
const COUNTED_AT_ONCE = 10_000
/** From this share of all people on, reading them in the order in which they lie is faster than by an index. */
const MOST = 0.3
/** Up to this share, looking up those with a tag is faster. */
const FEW = 0.05
const SAMPLE = 100

/** A page of the people of a filter, by their ids; `next` is the id after which the next one begins, undefined for none. */
export interface PeoplePage {
  people: PersonRecord[]
  next?: string
}

/** The next people of a filter: `limit` of them at most, and there may be fewer although others follow. */
export async function findPeoplePage(
  connection: Connection,
  asked: AskedPeople,
  {
    after = '',
    limit,
    projection = {},
    maxTimeMS = QUERY_MS,
  }: { after?: string | undefined; limit: number; projection?: object; maxTimeMS?: number },
): Promise<PeoplePage> {
  const { workspace, filter, also = {} } = asked
  const find = (query: mongo.Filter<PersonRecord>) =>
    peopleOf(connection)
      .find({ $and: [query, also] }, { projection, maxTimeMS })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray()
  if (campaignConditions(filter).length > 0) {
    const { query, next } = await nextPart(connection, asked, { after, size: limit })
    return { people: await find(query), ...(next !== undefined && { next }) }
  }
  const beyond = after === '' ? {} : { _id: { $gt: after } }
  const people = await find({ $and: [{ workspace, ...beyond }, segmentQuery(filter)] })
  const last = people.length < limit ? undefined : people.at(-1)?._id
  return { people, ...(last !== undefined && { next: last }) }
}

/** How many people a filter finds. Rejects with `unavailable` where that takes longer than 8 s. */
export async function countPeople(connection: Connection, asked: AskedPeople): Promise<number> {
  const { workspace, filter, also = {} } = asked
  if (campaignConditions(filter).length > 0)
    return (await countOneCampaign(connection, asked)) ?? countInParts(connection, asked)
  const people = peopleOf(connection)
  const until = performance.now() + COUNT_MS
  const parts = [segmentQuery(filter), also].filter((part) => Object.keys(part).length > 0)
  if (parts.length === 0)
    return people.countDocuments({ workspace }, { maxTimeMS: COUNT_MS, hint: LIST_INDEX })
  const { hint, middle } = await walkFor(connection, asked)
  const maxTimeMS = Math.max(1, Math.ceil(until - performance.now()))
  const halves = middle === undefined ? [{}] : [{ _id: { $lt: middle } }, { _id: { $gte: middle } }]
  const counts = await Promise.all(
    halves.map((half) => people.countDocuments({ workspace, ...half, $and: parts }, { maxTimeMS, hint })),
  )
  return counts.reduce((sum, each) => sum + each, 0)
}

interface Walk {
  hint: mongo.Hint
  /** Where nearly all are read, each half of the ids is counted for itself, which takes a fifth less: most of the time goes to the filter. */
  middle?: string | undefined
}

/** How to walk the people of a filter, by some of all people: counting those it could find would take as long as the filter does. */
async function walkFor(connection: Connection, { workspace, filter, also = {} }: AskedPeople): Promise<Walk> {
  if (isCovered(filter, also)) return { hint: AGREED_LANGUAGE_INDEX }
  const tag = filter.all?.find((one) => 'tag' in one)
  const some = await peopleOf(connection)
    .aggregate<Pick<PersonRecord, '_id' | 'workspace' | 'tags'>>(
      [{ $sample: { size: SAMPLE } }, { $project: { workspace: 1, tags: 1 } }],
      { maxTimeMS: COUNT_MS },
    )
    .toArray()
  const own = some.filter((one) => one.workspace === workspace)
  const tagged = own.filter(({ tags }) => tag !== undefined && tags?.includes(tag.tag.trim()))
  if (tag !== undefined && tagged.length <= FEW * some.length) return { hint: TAG_INDEX }
  if (own.length <= MOST * some.length) return { hint: LIST_INDEX }
  const ids = own.map(({ _id }) => _id).sort()
  return { hint: { $natural: 1 }, middle: ids[ids.length >> 1] }
}

/** Where a filter is marketing consent that was given or withdrawn, and languages at most beside it. */
function isCovered({ all = [], any = [], none = [] }: SegmentFilter, also: object): boolean {
  const isConsent = (one: Condition) =>
    'consent' in one && one.consent === 'marketing' && one.is !== 'unknown'
  const isOfIndex = all.every((one) => isConsent(one) || 'language' in one)
  return isOfIndex && all.some(isConsent) && any.length + none.length + Object.keys(also).length === 0
}

/** Where a filter is being in one campaign, and nothing else; undefined for others. */
async function countOneCampaign(
  connection: Connection,
  { workspace, filter, also = {} }: AskedPeople,
): Promise<number | undefined> {
  const { all = [], any = [], none = [] } = filter
  const [condition] = all
  const isOne = all.length === 1 && any.length + none.length + Object.keys(also).length === 0
  if (!isOne || condition === undefined || !('campaign' in condition)) return undefined
  return countMembers(connection, condition, { workspace, maxTimeMS: COUNT_MS })
}

async function countInParts(connection: Connection, asked: AskedPeople): Promise<number> {
  const until = performance.now() + COUNT_MS
  const parts = allParts(connection, asked, { size: COUNTED_AT_ONCE, maxTimeMS: COUNT_MS })
  let count = 0
  const countNext = async () => {
    for (let part = await parts.next(); part.done !== true; part = await parts.next()) {
      const maxTimeMS = Math.ceil(until - performance.now())
      if (maxTimeMS <= 0) throw new Problem('unavailable', { detail: 'Counting takes too long.' })
      const query = { $and: [part.value, asked.also ?? {}] }
      const counted = await peopleOf(connection).countDocuments(query, { maxTimeMS })
      count += counted
    }
  }
  try {
    // The people of the next part are looked up while the part before is counted.
    await Promise.all([countNext(), countNext()])
  } finally {
    await parts.return()
  }
  return count
}
