import { defined } from '@parley/shared/defined'
import { insertNew } from '@parley/shared/insert-new'
import { pointerSegment } from '@parley/shared/json-body'
import type { JsonObject } from '@parley/shared/json-object'
import { escapeKeys, unescapeKeys } from '@parley/shared/safe-keys'
import mongoose from 'mongoose'
import { withoutOwnFields } from '../documents/body.ts'
import type { DocumentWrite } from '../relay/change-stream.ts'
import type { Database, FieldChange, HistoryEntry } from '../store/database.ts'
import type { StoredDocument } from '../store/stored-document.ts'

const { calculateObjectSize } = mongoose.mongo.BSON
const MAX_BYTES = 8 * 1024 * 1024
const MAX_CHANGES = 500

/** Adds an entry for every change; what is there already stays. */
export async function writeHistory(
  database: Pick<Database, 'history'>,
  changes: readonly DocumentWrite[],
): Promise<void> {
  await insertNew(database.history(), changes.map(entryOf))
}

function entryOf({ resource, stored, before }: DocumentWrite): HistoryEntry {
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

/**
 * How `after` differs from `before`: objects by their members, arrays as a whole. More than 500 differences
 * are listed by top-level field.
 */
export function changesBetween(before: JsonObject, after: JsonObject): FieldChange[] {
  const detailed = compare(before, after, { path: '', deep: true })
  return detailed.length <= MAX_CHANGES ? detailed : compare(before, after, { path: '', deep: false })
}

function compare(before: JsonObject, after: JsonObject, at: { path: string; deep: boolean }): FieldChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => {
    const path = `${at.path}/${pointerSegment(name)}`
    const old = Object.hasOwn(before, name) ? before[name] : undefined
    const now = Object.hasOwn(after, name) ? after[name] : undefined
    if (at.deep && isObject(old) && isObject(now)) return compare(old, now, { path, deep: true })
    if (JSON.stringify(old) === JSON.stringify(now)) return []
    return [{ path, ...defined({ before: old }), ...defined({ after: now }) }]
  })
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
