import type { Connection, mongo } from 'mongoose'
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

export const SEGMENT_INDEXES: mongo.IndexDescription[] = [{ key: { '_id.workspace': 1, '_id.id': 1 } }]
