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
const JOINED_INDEX = { workspace: 1, joined: 1 } as const

export const PEOPLE_INDEXES: mongo.IndexDescription[] = [
  { key: ADDRESS_INDEX, unique: true },
  { key: LIST_INDEX },
  { key: NAME_INDEX, partialFilterExpression: { nameKey: { $exists: true } } },
  { key: TAG_INDEX },
  { key: CONSENT_INDEX },
  { key: JOINED_INDEX, partialFilterExpression: { joined: { $exists: true } } },
]
