import { changesBetween, type FieldChange } from '@parley/shared/field-changes'
import type { JsonObject } from '@parley/shared/json-object'
import { parseJson } from '@parley/shared/parse-json'
import { escapeKeys } from '@parley/shared/safe-keys'
import { inTransaction } from '@parley/shared/transaction'
import type { Connection, mongo } from 'mongoose'
import type { Author } from '../store/author.ts'

/** Resources that have a history; people have one of their consent. */
export type HistoricResource = 'segments' | 'templates' | 'campaigns'

/** One version of a document: who made it, when, and what changed. It stays when the document is deleted. */
export interface HistoryRecord {
  /** `<workspace>/<resource>/<id>/<version>` */
  _id: string
  workspace: number
  resource: HistoricResource
  id: string
  version: number
  operation: 'created' | 'updated' | 'deleted'
  at: Date
  by: Author
  changes: FieldChange[]
}

/** A change of a document, of which nothing was there before, or nothing is left. */
interface DocumentChange {
  id: string
  before: object | undefined
  after: object | undefined
}

export const historyOf = (connection: Connection): mongo.Collection<HistoryRecord> =>
  connection.collection('history') as unknown as mongo.Collection<HistoryRecord>

export const HISTORY_INDEXES: mongo.IndexDescription[] = [
  { key: { workspace: 1, resource: 1, id: 1, version: -1 }, unique: true },
  { key: { at: 1 } },
]

/** Runs a change together with what the history says of it: neither is there without the other, whatever dies. */
export function inTransactionOn<T>(
  connection: Connection,
  work: (session: mongo.ClientSession) => Promise<T>,
): Promise<T> {
  return inTransaction({ startSession: () => connection.getClient().startSession() }, work, {
    readConcern: { level: 'snapshot' },
  })
}

/** Adds a version for each document that has become another one. */
export async function writeHistory(
  connection: Connection,
  session: mongo.ClientSession,
  {
    workspace,
    resource,
    by,
    changes,
  }: { workspace: number; resource: HistoricResource; by: Author; changes: readonly DocumentChange[] },
): Promise<void> {
  const at = new Date()
  const differing = changes.flatMap(({ id, before, after }) => {
    const fields = changesBetween(asJson(before), asJson(after))
    if (fields.length === 0) return []
    const operation = before === undefined ? 'created' : after === undefined ? 'deleted' : 'updated'
    return [{ id, operation, fields: fields.map((field) => escapeKeys(field)) } as const]
  })
  if (differing.length === 0) return
  const history = historyOf(connection)
  const ids = differing.map(({ id }) => id)
  const latest = await history
    .aggregate<{ _id: string; version: number }>(
      [
        { $match: { workspace, resource, id: { $in: ids } } },
        { $group: { _id: '$id', version: { $max: '$version' } } },
      ],
      { session },
    )
    .toArray()
  const versions = new Map(latest.map(({ _id, version }) => [_id, version]))
  const records = differing.map(({ id, operation, fields }): HistoryRecord => {
    const version = (versions.get(id) ?? 0) + 1
    const _id = `${workspace}/${resource}/${id}/${version}`
    return { _id, workspace, resource, id, version, operation, at, by, changes: fields }
  })
  await history.insertMany(records, { session })
}

/** As it is shown: times are texts, and what is undefined is not there. */
const asJson = (document: object | undefined): JsonObject =>
  document === undefined ? {} : (parseJson(JSON.stringify(document)) as JsonObject)
