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
const DUPLICATE_KEY = 11_000

/** Adds an entry for every change; what is there already stays. */
export async function writeHistory(
  database: Pick<Database, 'history'>,
  changes: readonly DocumentChange[],
): Promise<void> {
  try {
    await database.history().insertMany(changes.map(entryOf), { ordered: false })
  } catch (error) {
    if (!isThereNow(error, changes.length)) throw error
  }
}

/** Whether each entry was either inserted or there before; a lost connection says nothing of single ones. */
function isThereNow(error: unknown, entries: number): boolean {
  const { writeErrors, insertedCount } = error as { writeErrors?: { code: number }[]; insertedCount?: number }
  const duplicates = [writeErrors ?? []].flat().filter(({ code }) => code === DUPLICATE_KEY)
  return duplicates.length + (insertedCount ?? 0) === entries
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
