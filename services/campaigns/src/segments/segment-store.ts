import type { Connection, mongo } from 'mongoose'
import { makeCollection } from '../store/make-collection.ts'
import type { SegmentFilter } from './segment-filter.ts'

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

/** Makes the collection and its index. */
export async function prepareSegments(connection: Connection): Promise<void> {
  await makeCollection(connection, 'segments')
  await segmentsOf(connection).createIndexes([{ key: { '_id.workspace': 1, '_id.id': 1 } }])
}
