import type { Connection, mongo } from 'mongoose'
import { LIST_INDEX, peopleOf } from '../store/people-collection.ts'
import type { PersonRecord } from '../store/person-record.ts'
import type { SegmentFilter } from './segment-filter.ts'

const COUNT_MS = 8_000
/** From this share of all people on, reading them in the order in which they lie is faster than by an index. */
const MOST = 0.3

/** A filter under a name of its own. */
export interface SegmentRecord {
  _id: { workspace: number; id: string }
  name: string
  filter: SegmentFilter
  createdAt: Date
  updatedAt: Date
}

export const segmentsOf = (connection: Connection): mongo.Collection<SegmentRecord> =>
  connection.collection('segments') as unknown as mongo.Collection<SegmentRecord>

export const SEGMENT_INDEXES: mongo.IndexDescription[] = [{ key: { '_id.workspace': 1, '_id.id': 1 } }]

/** How many people a query finds. Rejects with `unavailable` where that takes longer than 8 s. */
export async function countPeople(
  connection: Connection,
  query: mongo.Filter<PersonRecord> & { workspace: number },
): Promise<number> {
  const people = peopleOf(connection)
  const options = { maxTimeMS: COUNT_MS }
  const { workspace } = query
  const [own, all] = await Promise.all([
    people.countDocuments({ workspace }, { ...options, hint: LIST_INDEX }),
    people.estimatedDocumentCount(options),
  ])
  if (Object.keys(query).length === 1) return own
  return people.countDocuments(query, { ...options, hint: own > MOST * all ? { $natural: 1 } : LIST_INDEX })
}
