import { Problem } from '@parley/shared/problem'
import { requireMayBecome, requireWritable, type WriteAccess } from '../access/access.ts'
import { buildDocument, withoutOwnFields } from '../documents/body.ts'
import { locate } from '../documents/locate.ts'
import { changesBetween } from '../history/changes-between.ts'
import type { ResourceName } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import type { LiveDocument, ResourceDocument } from '../store/stored-document.ts'
import type { Imported } from './parse-import.ts'

/** What an import does with one document. */
export interface PlannedStep {
  resource: ResourceName
  _id: number
  action: 'create' | 'update' | 'unchanged'
  /** Where it changes (JSON Pointers). */
  changes: string[]
}

/** Compares one document with what is there. Throws what its write would. */
export async function planStep(options: {
  database: Database
  workspace: number
  access: WriteAccess
  imported: Imported
}): Promise<PlannedStep> {
  const { database, workspace, access, imported } = options
  const { definition, id, key, fields, path } = imported
  const current = await locate({ database, definition, workspace, path: { id } })
  importedDocument(imported, access, current)
  if (current === undefined) await requireKeyFree({ database, workspace, imported })
  const at = { resource: definition.name, _id: id }
  if (current === undefined) return { ...at, action: 'create', changes: [] }
  if (key !== undefined && key !== current.doc.key) {
    const message = 'an existing document keeps the key it has'
    throw new Problem('validation_failed', { errors: [{ path: `${path}/key`, code: 'other_key', message }] })
  }
  const before = withoutOwnFields(current.doc)
  if (JSON.stringify(before) === JSON.stringify(fields)) return { ...at, action: 'unchanged', changes: [] }
  const changes = changesBetween(before, fields).map((change) => change.path)
  return { ...at, action: 'update', changes }
}

/** The document that an import makes of `current`. Throws where the caller may not. */
export function importedDocument(
  { definition, id, key, fields }: Imported,
  access: WriteAccess,
  current: LiveDocument | undefined,
): ResourceDocument {
  if (current !== undefined) requireWritable(access, current)
  const doc = buildDocument({ definition, current: current?.doc, id, key, fields })
  requireMayBecome(access, doc)
  return doc
}

async function requireKeyFree(options: {
  database: Database
  workspace: number
  imported: Imported
}): Promise<void> {
  const { database, workspace, imported } = options
  const { definition, key, path } = imported
  if (key === undefined) return
  const holder = await locate({ database, definition, workspace, path: { key } })
  if (holder === undefined) return
  const message = `is the key of ${definition.name}/${holder.doc._id}`
  throw new Problem('validation_failed', { errors: [{ path: `${path}/key`, code: 'key_taken', message }] })
}
