import type { Connection, mongo } from 'mongoose'
import { JOINED_INDEX, LIST_INDEX, peopleOf } from '../store/people-collection.ts'
import type { PersonRecord } from '../store/person-record.ts'
import { ERASED, recipientId, recipientsOf } from '../store/recipient-record.ts'
import { type CampaignCondition, campaignConditions, type SegmentFilter } from './segment-filter.ts'
import { segmentQuery } from './segment-query.ts'

const QUERY_MS = 5_000
/** So many ids of people are in a statement: 4 MB of it. */
const MAX_NAMED = 40_000

/** A filter over the people of a workspace; `also` is what else is so of them, such as that a caller may read them. */
export interface AskedPeople {
  workspace: number
  filter: SegmentFilter
  also?: mongo.Filter<PersonRecord>
}

interface SegmentPart {
  query: mongo.Filter<PersonRecord>
  /** The id after which the next part begins; undefined for the last one. */
  next?: string
}

/**
 * The query of the next people of a filter that names campaigns, which people's records say nothing of: who is in them is
 * looked up for `size` at a time, the next of a campaign that everybody has to be in, else the next people. Everybody is in
 * one part.
 */
export async function nextPart(
  connection: Connection,
  { workspace, filter }: AskedPeople,
  { after, size }: { after: string; size: number },
): Promise<SegmentPart> {
  const required = requiredIn(filter)
  const asked = { workspace, after, size }
  const { last, names } = await (required === undefined
    ? nextPeople(connection, asked)
    : nextMembers(connection, required, asked))
  const query = await queryAmong(connection, { workspace, filter }, names)
  return { query, ...(last !== undefined && { next: last }) }
}

/**
 * The queries of all of these parts, in no order: of a campaign that everybody has to be in, people are read as its index of
 * states has them, and nothing else of it. Rejects when reading them takes longer than `maxTimeMS` milliseconds.
 */
export async function* allParts(
  connection: Connection,
  { workspace, filter }: AskedPeople,
  { size, maxTimeMS }: { size: number; maxTimeMS: number },
): AsyncGenerator<mongo.Filter<PersonRecord>, void> {
  const required = requiredIn(filter)
  if (required === undefined) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const part: SegmentPart = await nextPart(connection, { workspace, filter }, { after, size })
      yield part.query
      after = part.next
    }
    return
  }
  const { id: campaign } = required.campaign
  const joined = await allJoined(connection, { workspace, maxTimeMS })
  const members = recipientsOf(connection).find(
    { campaign, ...stateQuery(required) },
    { projection: { _id: 1 }, batchSize: size, maxTimeMS },
  )
  try {
    while (await members.hasNext()) {
      const listed = members.readBufferedDocuments(size).map(({ _id }) => personOf(campaign, _id))
      const these = new Set(listed)
      const joinedTo =
        joined?.filter(({ joined }) => joined.some((one) => these.has(one))) ??
        (await joinedAmong(connection, workspace, listed))
      const names = await namesOf(connection, required, { listed, joinedTo })
      yield await queryAmong(connection, { workspace, filter }, names)
    }
  } finally {
    await members.close()
  }
}

const requiredIn = ({ all = [] }: SegmentFilter): CampaignCondition | undefined =>
  all.find((one) => 'campaign' in one)

/** Those of a filter among people, who are given by their ids with those under which they may have been listed. */
async function queryAmong(
  connection: Connection,
  { workspace, filter }: Pick<AskedPeople, 'workspace' | 'filter'>,
  names: Candidates['names'],
): Promise<mongo.Filter<PersonRecord>> {
  const required = requiredIn(filter)
  const others = { ...filter, all: filter.all?.filter((one) => one !== required) ?? [] }
  const members = new Map<CampaignCondition, string[]>()
  for (const one of campaignConditions(others)) members.set(one, await membersAmong(connection, one, names))
  const query = segmentQuery(others, (one) => members.get(one) ?? [])
  return { $and: [{ workspace, _id: { $in: [...names.keys()] } }, query] }
}

interface Candidates {
  /** People by their ids, with those under which they may have been listed. */
  names: Map<string, string[]>
  /** The last that was looked at, where there may be more. */
  last: string | undefined
}

interface Asked {
  workspace: number
  after: string
  size: number
}

async function nextPeople(connection: Connection, { workspace, after, size }: Asked): Promise<Candidates> {
  const found = await peopleOf(connection)
    .find(
      { workspace, _id: { $gt: after } },
      { projection: { joined: 1 }, hint: LIST_INDEX, maxTimeMS: QUERY_MS },
    )
    .sort({ _id: 1 })
    .limit(size)
    .toArray()
  return {
    names: new Map(found.map(({ _id, joined = [] }) => [_id, [_id, ...joined]])),
    last: found.length < size ? undefined : found.at(-1)?._id,
  }
}

async function nextMembers(
  connection: Connection,
  condition: CampaignCondition,
  { workspace, after, size }: Asked,
): Promise<Candidates> {
  const { id } = condition.campaign
  const found = await recipientsOf(connection)
    .find(
      { _id: { $gt: recipientId(id, after), $lt: recipientId(id, BEHIND_ALL) }, ...stateQuery(condition) },
      { projection: { _id: 1 }, maxTimeMS: QUERY_MS },
    )
    .sort({ _id: 1 })
    .limit(size)
    .toArray()
  const listed = found.map(({ _id }) => personOf(id, _id))
  const joinedTo = await joinedAmong(connection, workspace, listed)
  return {
    names: await namesOf(connection, condition, { listed, joinedTo }),
    last: found.length < size ? undefined : listed.at(-1),
  }
}

/**
 * Who is listed in a campaign. Who turned out to be another person is found as that one, where the first of those that are
 * this person is among `listed`, and not that one itself.
 */
async function namesOf(
  connection: Connection,
  condition: CampaignCondition,
  { listed, joinedTo }: { listed: readonly string[]; joinedTo: readonly Joined[] },
): Promise<Candidates['names']> {
  const there = await listedAmong(
    connection,
    condition,
    joinedTo.flatMap(({ _id, joined }) => [_id, ...joined]),
  )
  const these = new Set(listed)
  const others = joinedTo.filter(
    ({ _id, joined }) => !there.has(_id) && these.has(joined.find((one) => there.has(one)) ?? ''),
  )
  return new Map([
    ...listed.map((one): [string, string[]] => [one, [one]]),
    ...others.map(({ _id, joined }): [string, string[]] => [_id, [_id, ...joined]]),
  ])
}

/** Somebody, with those who turned out to be them. */
type Joined = Required<Pick<PersonRecord, '_id' | 'joined'>>

async function joinedAmong(
  connection: Connection,
  workspace: number,
  people: readonly string[],
): Promise<Joined[]> {
  return findJoined(
    connection,
    { workspace, joined: { $in: [...people] } },
    { maxTimeMS: QUERY_MS },
  ).toArray()
}

/** All of a workspace; undefined where they are too many to be named in a statement. */
async function allJoined(
  connection: Connection,
  { workspace, maxTimeMS }: { workspace: number; maxTimeMS: number },
): Promise<Joined[] | undefined> {
  const found = await findJoined(connection, { workspace, joined: { $exists: true } }, { maxTimeMS })
    .limit(MAX_NAMED)
    .toArray()
  const ids = found.reduce((sum, { joined }) => sum + 1 + joined.length, 0)
  return ids > MAX_NAMED ? undefined : found
}

const findJoined = (
  connection: Connection,
  query: mongo.Filter<PersonRecord>,
  { maxTimeMS }: { maxTimeMS: number },
) => peopleOf(connection).find<Joined>(query, { projection: { joined: 1 }, hint: JOINED_INDEX, maxTimeMS })

const BEHIND_ALL = '~'

const personOf = (campaign: string, recipient: string): string =>
  recipient.slice(recipientId(campaign, '').length)

/**
 * How many people are in a campaign, by its index: who was erased is nobody any more, and who was joined to somebody that was
 * listed, too, is one of them. Undefined where too many were joined to others.
 */
export async function countMembers(
  connection: Connection,
  condition: CampaignCondition,
  { workspace, maxTimeMS }: { workspace: number; maxTimeMS: number },
): Promise<number | undefined> {
  const { id: campaign } = condition.campaign
  const recipients = recipientsOf(connection)
  const state = stateQuery(condition)
  const joined = await allJoined(connection, { workspace, maxTimeMS })
  if (joined === undefined) return undefined
  const idsOf = joined.map(({ _id, joined }) => [_id, ...joined])
  const erased = { $gte: recipientId(campaign, ERASED), $lt: recipientId(campaign, `${ERASED}~`) }
  const [listed, nobody] = await Promise.all([
    recipients.countDocuments({ campaign, ...state }, { maxTimeMS }),
    recipients.countDocuments({ _id: erased, ...state }, { maxTimeMS }),
  ])
  const there = await listedAmong(connection, condition, idsOf.flat())
  const twice = idsOf.map((own) => own.filter((one) => there.has(one)).length)
  return listed - nobody - twice.reduce((sum, times) => sum + Math.max(0, times - 1), 0)
}

/** Those who are in a campaign, by one of the ids that they may be listed by. */
async function membersAmong(
  connection: Connection,
  condition: CampaignCondition,
  names: ReadonlyMap<string, readonly string[]>,
): Promise<string[]> {
  const there = await listedAmong(connection, condition, [...names.values()].flat())
  return [...names].flatMap(([person, ofPerson]) => (ofPerson.some((one) => there.has(one)) ? [person] : []))
}

async function listedAmong(
  connection: Connection,
  condition: CampaignCondition,
  people: readonly string[],
): Promise<Set<string>> {
  const { id } = condition.campaign
  const there = new Set<string>()
  for (let at = 0; at < people.length; at += MAX_NAMED) {
    const named = people.slice(at, at + MAX_NAMED).map((one) => recipientId(id, one))
    const found = await recipientsOf(connection)
      .find(
        { _id: { $in: named }, ...stateQuery(condition) },
        { projection: { _id: 1 }, maxTimeMS: QUERY_MS },
      )
      .toArray()
    for (const { _id } of found) there.add(personOf(id, _id))
  }
  return there
}

function stateQuery({ campaign: { state } }: CampaignCondition): object {
  if (state === undefined) return {}
  return state === 'replied' ? { repliedAt: { $exists: true } } : { state }
}
