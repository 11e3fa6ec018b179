import { allows } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { callerOf } from '@parley/shared/service-app'
import { findAttributeTypes } from '../attributes/attribute-store.ts'
import type { Dependencies } from '../dependencies.ts'
import { filterErrors, type SegmentFilter } from './segment-filter.ts'
import { type SegmentRecord, segmentsOf } from './segment-store.ts'

const QUERY_MS = 5_000

/** A segment as it is shown, and as rules of roles see it. */
export const viewOf = ({ _id, name, filter, createdAt, updatedAt }: SegmentRecord) => ({
  ...{ _id: _id.id, name, filter },
  ...{ createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() },
})

/** The segment with an id; undefined where there is none that the caller may read. */
export async function findSegment(
  { connection, authorizer }: Pick<Dependencies, 'connection' | 'authorizer'>,
  { caller, id }: { caller: ReturnType<typeof callerOf>; id: string },
): Promise<SegmentRecord | undefined> {
  const read = await authorizer.require(caller, 'segments', 'read')
  const _id = { workspace: caller.workspace._id, id }
  const found = await segmentsOf(connection).findOne({ _id }, { maxTimeMS: QUERY_MS })
  return found !== null && allows(read, viewOf(found)) ? found : undefined
}

/** Throws `validation_failed` where a filter names attributes that the workspace has not; `path` is where it stands. */
export async function requireFilter(
  connection: Dependencies['connection'],
  workspace: number,
  filter: SegmentFilter,
  path = '',
): Promise<void> {
  const errors = filterErrors(filter, await findAttributeTypes(connection, workspace))
  if (errors.length === 0) return
  throw new Problem('validation_failed', {
    errors: errors.map((error) => ({ ...error, path: `${path}${error.path}` })),
  })
}
