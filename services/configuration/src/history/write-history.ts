import { insertNew } from '@parley/shared/insert-new'
import { escapeKeys, unescapeKeys } from '@parley/shared/safe-keys'
import mongoose from 'mongoose'
import { withoutOwnFields } from '../documents/body.ts'
import type { DocumentChange } from '../relay/change-stream.ts'
import type { Database } from '../store/database.ts'
import type { FieldChange, HistoryEntry } from '../store/history-entry.ts'
import type { StoredDocument } from '../store/stored-document.ts'
import { changesBetween } from './changes-between.ts'

const { calculateObjectSize } = mongoose.mongo.BSON
const MAX_BYTES = 8 * 1024 * 1024

/** Adds an entry for every change; what is there already stays. */
export async function writeHistory(
  database: Pick<Database, 'history'>,
  changes: readonly DocumentChange[],
): Promise<void> {
  await insertNew(database.history(), changes.map(entryOf))
}

function entryOf({ resource, stored, before }: DocumentChange): HistoryEntry {
  const { version, written } = stored
  return { _id: { ...stored._id, resource, version }, ...written, changes: boundedChanges(stored, before) }
}

function boundedChanges(stored: StoredDocument, before: StoredDocument | undefined): FieldChange[] | null {
  if (before === undefined && stored.version > 1) return null
  const changes = changesBetween(fieldsOf(before), fieldsOf(stored)).map((change) => escapeKeys(change))
  if (calculateObjectSize({ changes }) <= MAX_BYTES) return changes
  return changes.map(({ path }) => ({ path }))
}

const fieldsOf = (stored: StoredDocument | undefined) =>
  stored?.doc === undefined ? {} : withoutOwnFields(unescapeKeys(stored.doc))
