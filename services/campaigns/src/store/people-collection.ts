import type { Connection, mongo } from 'mongoose'
import type { PersonRecord } from './person-record.ts'

/** The people of all workspaces. */
export const peopleOf = (connection: Connection): mongo.Collection<PersonRecord> =>
  connection.collection('people') as unknown as mongo.Collection<PersonRecord>

export const ADDRESS_INDEX = { workspace: 1, addresses: 1 } as const
export const NAME_INDEX = { workspace: 1, nameKey: 1, _id: 1 } as const
export const LIST_INDEX = { workspace: 1, _id: 1 } as const
export const TAG_INDEX = { workspace: 1, tags: 1, _id: 1 } as const
export const CONSENT_INDEX = { workspace: 1, 'consent.marketing.status': 1, _id: 1 } as const
/** Whom most segments are of: counted by it alone, without reading the people. */
export const AGREED_LANGUAGE_INDEX = { workspace: 1, 'consent.marketing.status': 1, language: 1 } as const
export const JOINED_INDEX = { workspace: 1, joined: 1 } as const

export const PEOPLE_INDEXES: mongo.IndexDescription[] = [
  { key: ADDRESS_INDEX, unique: true },
  { key: LIST_INDEX },
  { key: NAME_INDEX, partialFilterExpression: { nameKey: { $exists: true } } },
  { key: TAG_INDEX },
  { key: CONSENT_INDEX },
  { key: AGREED_LANGUAGE_INDEX },
  { key: JOINED_INDEX, partialFilterExpression: { joined: { $exists: true } } },
]

const QUERY_MS = 5_000

/** Those who have one of the ids, and those whom one of them was joined to: by an index each, which one query does not take. */
export async function findByIds(
  connection: Connection,
  workspaces: readonly number[],
  ids: readonly string[],
): Promise<PersonRecord[]> {
  if (ids.length === 0) return []
  const people = peopleOf(connection)
  const named = { $in: [...ids] }
  const workspace = { $in: [...workspaces] }
  const [own, others] = await Promise.all([
    people.find({ _id: named, workspace }, { hint: { _id: 1 }, maxTimeMS: QUERY_MS }).toArray(),
    people.find({ workspace, joined: named }, { hint: JOINED_INDEX, maxTimeMS: QUERY_MS }).toArray(),
  ])
  return [...new Map([...own, ...others].map((person) => [person._id, person])).values()]
}
