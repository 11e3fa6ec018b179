import type { ResourceName } from '@parley/shared/configuration-resources'
import { changesBetween } from '@parley/shared/field-changes'
import type { Caller } from '@parley/shared/internal-token'
import { type FieldError, Problem } from '@parley/shared/problem'
import { requireWritable, type WriteAccess } from '../access/access.ts'
import { withoutOwnFields } from '../documents/body.ts'
import { type CallersWrite, checkedDocument } from '../documents/build-for-caller.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { locate } from '../documents/store-document.ts'
import { definitions } from '../resources/all-resources.ts'
import type { Database } from '../store/database.ts'
import type { LiveDocument, ResourceDocument } from '../store/stored-document.ts'
import { countLive } from '../store/write-document.ts'
import type { Imported } from './parse-import.ts'

/** The operation of an import on one document. */
export interface PlannedStep {
  resource: ResourceName
  _id: number
  action: 'create' | 'update' | 'unchanged'
  /** Where it changes (JSON Pointers). */
  changes: string[]
}

interface Importing {
  caller: Caller
  access: WriteAccess
  imported: Imported
}

/** Compares one document with what is there. Throws what its write would. */
export async function planStep(
  dependencies: Pick<Dependencies, 'database' | 'authorizer' | 'secrets'>,
  importing: Importing,
): Promise<PlannedStep> {
  const { database } = dependencies
  const { caller, imported } = importing
  const { definition, id, key, path } = imported
  const workspace = caller.workspace._id
  const current = await locate({ database, definition, workspace, path: { id } })
  const at = { resource: definition.name, _id: id }
  const next = await importedDocument(importing, current, (write) => checkedDocument(dependencies, write))
  if (current === undefined) {
    await requireKeyFree({ database, workspace, imported })
    return { ...at, action: 'create', changes: [] }
  }
  if (key !== undefined && key !== current.doc.key) {
    const message = 'the key of an existing document can not change'
    throw new Problem('validation_failed', { errors: [{ path: `${path}/key`, code: 'other_key', message }] })
  }
  const [before, after] = [current.doc, next].map((doc) => withoutOwnFields(definition, doc))
  if (before === undefined || after === undefined || JSON.stringify(before) === JSON.stringify(after))
    return { ...at, action: 'unchanged', changes: [] }
  return { ...at, action: 'update', changes: changesBetween(before, after).map((change) => change.path) }
}

/** Returns the document that `build` makes of an imported one over `current`. Throws where the caller may not. */
export async function importedDocument(
  { caller, access, imported }: Importing,
  current: LiveDocument | undefined,
  build: (write: CallersWrite) => Promise<ResourceDocument>,
): Promise<ResourceDocument> {
  if (current !== undefined) requireWritable(access, current)
  const { definition, id, key, fields, path } = imported
  try {
    return await build({ definition, caller, access, current: current?.doc, id, key, fields })
  } catch (error) {
    throw withPath(path, error)
  }
}

/** An error with the document's path in the body before the paths of what is wrong. */
function withPath(path: string, error: unknown): unknown {
  const found = error instanceof Problem ? error.options.errors : undefined
  if (!(error instanceof Problem) || found === undefined) return error
  const errors = found.map((one) => ({ ...one, path: path + one.path }))
  return new Problem(error.code, { ...error.options, errors })
}

async function requireKeyFree(options: {
  database: Database
  workspace: number
  imported: Imported
}): Promise<void> {
  const { database, workspace, imported } = options
  const { definition, key, path } = imported
  if (key === undefined) return
  const owner = await locate({ database, definition, workspace, path: { key } })
  if (owner === undefined) return
  const message = `is the key of ${definition.name}/${owner.doc._id}`
  throw new Problem('validation_failed', { errors: [{ path: `${path}/key`, code: 'key_taken', message }] })
}

/** The resources of which a workspace would have more than it may. */
export async function errorsOfRoom(
  database: Database,
  workspace: number,
  plan: readonly PlannedStep[],
): Promise<FieldError[]> {
  const errors: FieldError[] = []
  for (const name of new Set(plan.map(({ resource }) => resource))) {
    const { most } = definitions[name]
    const created = plan.filter(({ resource, action }) => resource === name && action === 'create').length
    if (most === undefined || created === 0) continue
    const there = await countLive(database, { resource: name, workspace, most })
    if (there + created <= most) continue
    const message = `a workspace has at most ${most} ${name}; there are ${there}, and ${created} would be created`
    errors.push({ path: `/resources/${name}`, code: 'too_many', message })
  }
  return errors
}
