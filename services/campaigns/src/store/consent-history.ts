import type { Purpose } from '@parley/shared/consent'
import { insertNew } from '@parley/shared/insert-new'
import type { Connection, mongo } from 'mongoose'
import type { Author } from '../store/author.ts'
import { type Consent, type PersonRecord, PURPOSES } from './person-record.ts'

const QUERY_MS = 5_000
const BY_FILE = 'import'

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

/**
 * The history of consent of all workspaces. What a file says is in the person's own record until something else is said: a
 * million rows would be as many entries.
 */
export const consentsOf = (connection: Connection): mongo.Collection<ConsentEntry> =>
  connection.collection('consents') as unknown as mongo.Collection<ConsentEntry>

export const CONSENT_INDEXES: mongo.IndexDescription[] = [
  { key: { workspace: 1, person: 1, at: -1, _id: -1 } },
]

/** Adds changes to the history of people; each once for its id. */
export async function addToHistory(connection: Connection, ...entries: ConsentEntry[]): Promise<void> {
  await insertNew(consentsOf(connection), entries)
}

/** Returns the consent from files that `after`, the same person, does not have any more: it belongs in the history. */
export function endedFileEntries(before: PersonRecord, after: Pick<PersonRecord, 'consent'>): ConsentEntry[] {
  return fileEntries(before).filter(({ purpose, at, status }) => {
    const next = after.consent[purpose]
    return next?.status !== status || next.at.getTime() !== at.getTime()
  })
}

function fileEntries({ _id: person, workspace, consent }: PersonRecord): ConsentEntry[] {
  return PURPOSES.flatMap((purpose) => {
    const said = consent[purpose]
    if (said?.source !== BY_FILE) return []
    return {
      _id: `${person}/${purpose}/${said.at.getTime()}/${said.status}`,
      workspace,
      person,
      purpose,
      ...said,
    }
  })
}

/** The history of a person's consent, the newest first, from behind an entry on; `limit` of it at most. */
export async function consentHistory(
  connection: Connection,
  person: PersonRecord,
  { limit, behind }: { limit: number; behind?: { at: Date; _id: string } },
): Promise<ConsentEntry[]> {
  const { _id, workspace, joined = [] } = person
  const found = await consentsOf(connection)
    .find(
      {
        ...{ workspace, person: { $in: [_id, ...joined] } },
        ...(behind && { $or: [{ at: { $lt: behind.at } }, { at: behind.at, _id: { $lt: behind._id } }] }),
      },
      { maxTimeMS: QUERY_MS },
    )
    .sort({ at: -1, _id: -1 })
    .limit(limit)
    .toArray()
  const own = fileEntries(person).filter(
    (one) =>
      (behind === undefined || newestFirst(behind, one) < 0) && !found.some((other) => isSame(one, other)),
  )
  return [...found, ...own].toSorted(newestFirst).slice(0, limit)
}

type Position = Pick<ConsentEntry, '_id' | 'at'>

const newestFirst = (one: Position, other: Position): number =>
  other.at.getTime() - one.at.getTime() || (one._id < other._id ? 1 : one._id > other._id ? -1 : 0)

const isSame = (one: ConsentEntry, other: ConsentEntry): boolean =>
  one.purpose === other.purpose &&
  one.status === other.status &&
  one.source === other.source &&
  one.at.getTime() === other.at.getTime()
