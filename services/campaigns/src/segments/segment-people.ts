import { Problem } from '@parley/shared/problem'
import type { Connection, mongo } from 'mongoose'
import { LIST_INDEX, peopleOf } from '../store/people-collection.ts'
import type { PersonRecord } from '../store/person-record.ts'
import { campaignConditions } from './segment-filter.ts'
import { type AskedPeople, nextPart } from './segment-part.ts'
import { segmentQuery } from './segment-query.ts'

const QUERY_MS = 10_000
const COUNT_MS = 8_000
/** So many people are looked up in a campaign at once. */
const COUNTED_AT_ONCE = 10_000
/** From this share of all people on, reading them in the order in which they lie is faster than by an index. */
const MOST = 0.3
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
  { after = '', limit, projection = {} }: { after?: string | undefined; limit: number; projection?: object },
): Promise<PeoplePage> {
  const { workspace, filter, also = {} } = asked
  const find = (query: mongo.Filter<PersonRecord>) =>
    peopleOf(connection)
      .find({ $and: [query, also] }, { projection, maxTimeMS: QUERY_MS })
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
  if (campaignConditions(filter).length > 0) return countInParts(connection, asked)
  const people = peopleOf(connection)
  const options = { maxTimeMS: COUNT_MS }
  const parts = [segmentQuery(filter), also].filter((part) => Object.keys(part).length > 0)
  if (parts.length === 0) return people.countDocuments({ workspace }, { ...options, hint: LIST_INDEX })
  return people.countDocuments(
    { workspace, $and: parts },
    { ...options, hint: (await haveMost(connection, workspace)) ? { $natural: 1 } : LIST_INDEX },
  )
}

/** Whether many of all people are of the workspace, by some of them: counting its own would take as long as a filter does. */
async function haveMost(connection: Connection, workspace: number): Promise<boolean> {
  const [own] = await peopleOf(connection)
    .aggregate<{ count: number }>(
      [{ $sample: { size: SAMPLE } }, { $match: { workspace } }, { $count: 'count' }],
      { maxTimeMS: QUERY_MS },
    )
    .toArray()
  return (own?.count ?? 0) > MOST * SAMPLE
}

async function countInParts(connection: Connection, asked: AskedPeople): Promise<number> {
  const until = performance.now() + COUNT_MS
  let count = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    const maxTimeMS = Math.ceil(until - performance.now())
    if (maxTimeMS <= 0) throw new Problem('unavailable', { detail: 'Counting takes too long.' })
    const { query, next }: Awaited<ReturnType<typeof nextPart>> = await nextPart(connection, asked, {
      ...{ after, size: COUNTED_AT_ONCE },
    })
    count += await peopleOf(connection).countDocuments({ $and: [query, asked.also ?? {}] }, { maxTimeMS })
    after = next
  }
  return count
}
