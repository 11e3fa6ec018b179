import { defined } from '@parley/shared/defined'
import { changesBetween, type FieldChange } from '@parley/shared/field-changes'
import { insertNew } from '@parley/shared/insert-new'
import type { JsonObject } from '@parley/shared/json-object'
import { escapeKeys, unescapeKeys } from '@parley/shared/safe-keys'
import { type SecretBox, sealSecrets } from '@parley/shared/sealed-value'
import { isCredentialsName } from '@parley/shared/secret-names'
import mongoose from 'mongoose'
import { withoutOwnFields } from '../documents/body.ts'
import type { DocumentWrite } from '../relay/relay.ts'
import { definitions } from '../resources/all-resources.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { reachAt } from '../secrets/presenter.ts'
import type { Database, HistoryEntry } from '../store/database.ts'
import { isErasure, isSealing, type StoredDocument } from '../store/stored-document.ts'

const NAME = '/name'
const MAX_RENAMES = 1_000

const { calculateObjectSize } = mongoose.mongo.BSON
const MAX_BYTES = 8 * 1024 * 1024
const CONTEXT = '/context'
const THREAD = '/extId'

/** Adds an entry for every change; what is there already stays. */
export async function writeHistory(
  database: Pick<Database, 'history'>,
  secrets: SecretBox,
  changes: readonly DocumentWrite[],
): Promise<void> {
  await insertNew(
    database.history(),
    changes.map((change) => entryOf(change, secrets)),
  )
  for (const { resource, stored } of changes)
    if (isErasure(stored.written)) await eraseContext(database.history(), { ...stored, resource })
}

/** Erases the values of the document's context in earlier entries. */
async function eraseContext(
  history: ReturnType<Database['history']>,
  {
    _id: { workspace, id },
    resource,
    version,
    doc,
  }: Pick<StoredDocument, '_id' | 'version' | 'doc'> & Pick<DocumentWrite, 'resource'>,
): Promise<void> {
  const at = (version: number) => ({ workspace, id, resource, version })
  // Where it is of no thread any more, of which it was is forgotten, too.
  const isForgotten = doc !== undefined && doc.extId == null
  const isOther = {
    $and: [
      { $ne: [{ $substrCP: ['$$this.path', 0, CONTEXT.length] }, CONTEXT] },
      ...(isForgotten ? [{ $ne: ['$$this.path', THREAD] }] : []),
    ],
  }
  const erased = isForgotten ? `^(${CONTEXT}|${THREAD}$)` : `^${CONTEXT}`
  await history.updateMany(
    // A range of whole ids, because the only index is theirs.
    { _id: { $gt: at(0), $lt: at(version) }, changes: { $elemMatch: { path: { $regex: erased } } } },
    [{ $set: { changes: { $filter: { input: '$changes', cond: isOther } } } }],
  )
}

function entryOf({ resource, stored, before }: DocumentWrite, secrets: SecretBox): HistoryEntry {
  const { version, written } = stored
  return {
    _id: { ...stored._id, resource, version },
    ...written,
    changes: boundedChanges({ resource, stored, before }, secrets),
  }
}

function boundedChanges(
  { resource, stored, before }: DocumentWrite,
  secrets: SecretBox,
): FieldChange[] | null {
  if (before === undefined && stored.version > 1) return null
  const definition = definitions[resource]
  const [then, now] = [fieldsOf(definition, before), fieldsOf(definition, stored)]
  const isCredentials = isCredentialsName(then.name) || isCredentialsName(now.name)
  const { workspace } = stored._id
  const changes = sealChanges(changesBetween(then, now), { secrets, workspace, isCredentials }).map(
    (change) => escapeKeys(change),
  )
  if (isErasure(stored.written) || isSealing(stored.written)) return changes.map(({ path }) => ({ path }))
  if (calculateObjectSize({ changes }) <= MAX_BYTES) return changes
  return changes.map(({ path }) => ({ path }))
}

const fieldsOf = (definition: ResourceDefinition, stored: StoredDocument | undefined): JsonObject =>
  stored?.doc === undefined ? {} : withoutOwnFields(definition, unescapeKeys(stored.doc))

/** Changes with their secrets sealed: a document may have had them in the clear. The same array where nothing changed. */
export function sealChanges(
  changes: readonly FieldChange[],
  { secrets, workspace, isCredentials }: { secrets: SecretBox; workspace: number; isCredentials: boolean },
): readonly FieldChange[] {
  const sealed = changes.map((change) => {
    const reach = reachAt(change.path, isCredentials)
    const seal = (value: unknown) => sealSecrets(value, secrets, workspace, { reach })
    const [before, after] = [seal(change.before), seal(change.after)]
    return before === change.before && after === change.after
      ? change
      : { path: change.path, ...defined({ before }), ...defined({ after }) }
  })
  return sealed.some((change, at) => change !== changes[at]) ? sealed : changes
}

/** True if a document is, or was once, a config whose value is secret as a whole; `name` is its present one. */
export async function wasCredentials(
  database: Pick<Database, 'history'>,
  { workspace, id, resource }: Omit<HistoryEntry['_id'], 'version'>,
  name: unknown,
): Promise<boolean> {
  if (resource !== 'configs') return false
  if (isCredentialsName(name)) return true
  const at = (version: number) => ({ workspace, id, resource, version })
  const isOfName = { $elemMatch: { path: NAME } }
  const renames = database
    .history()
    .find({ _id: { $gt: at(0), $lt: at(Number.MAX_SAFE_INTEGER) }, changes: isOfName })
    .project<Pick<HistoryEntry, 'changes'>>({ changes: isOfName })
    .limit(MAX_RENAMES)
  for await (const { changes } of renames)
    if (changes?.some(({ before, after }) => isCredentialsName(before) || isCredentialsName(after)))
      return true
  return false
}
