import type { Purpose } from '@parley/shared/consent'
import { insertNew } from '@parley/shared/insert-new'
import type { Connection, mongo } from 'mongoose'
import type { Author } from '../store/author.ts'
import type { Consent } from './person-record.ts'

/** One change of a person's consent, which stays in its history. */
export interface ConsentEntry extends Consent {
  _id: string
  workspace: number
  /** The id of the person, or of one who was joined to them later. */
  person: string
  purpose: Purpose
  /** The account that wrote it, where it was by the API. */
  by?: Author
}

/** The history of consent of all workspaces. */
export const consentsOf = (connection: Connection): mongo.Collection<ConsentEntry> =>
  connection.collection('consents') as unknown as mongo.Collection<ConsentEntry>

export const CONSENT_INDEXES: mongo.IndexDescription[] = [
  { key: { workspace: 1, person: 1, at: -1, _id: -1 } },
]

/** Adds a change to the history of a person; once for an id. */
export async function addToHistory(connection: Connection, entry: ConsentEntry): Promise<void> {
  await insertNew(consentsOf(connection), [entry])
}
