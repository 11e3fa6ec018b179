import type { Caller } from '@parley/shared/internal-token'
import type { Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import type { Dependencies } from '../dependencies.ts'
import { type ImportRecord, importsOf } from './import-record.ts'

const QUERY_MS = 5_000
const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** The imports that a caller may read: who may not read all people reads their own. */
export function visibleImports(caller: Caller, read: Decision): mongo.Filter<ImportRecord> {
  const workspace = caller.workspace._id
  return read.kind === 'all' ? { workspace } : { workspace, 'by._id': caller.account._id }
}

/** The import that a path names. Throws `invalid_id`, and `not_found` for one that the caller may not read. */
export async function findImport(
  { connection, authorizer }: Pick<Dependencies, 'connection' | 'authorizer'>,
  { caller, id }: { caller: Caller; id: string },
): Promise<ImportRecord> {
  const read = await authorizer.require(caller, 'people', 'read')
  if (!ID.test(id)) throw new Problem('invalid_id', { detail: 'It is not the id of an import.' })
  const found = await importsOf(connection).findOne(
    { _id: id, ...visibleImports(caller, read) },
    { maxTimeMS: QUERY_MS },
  )
  if (found === null) throw new Problem('not_found')
  return found
}
