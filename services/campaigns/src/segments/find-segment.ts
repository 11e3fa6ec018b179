import type { Caller } from '@parley/shared/internal-token'
import { allows } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { callerOf } from '@parley/shared/service-app'
import { findAttributeTypes } from '../attributes/attribute-store.ts'
import type { Dependencies } from '../dependencies.ts'
import { campaignConditions, filterErrors, type SegmentFilter } from './segment-filter.ts'
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

/**
 * Throws `validation_failed` where a filter names attributes that the workspace has not, or campaigns that the caller may not
 * read; `path` is where it stands.
 */
export async function requireFilter(
  { connection, authorizer }: Pick<Dependencies, 'connection' | 'authorizer'>,
  { caller, filter, path = '' }: { caller: Caller; filter: SegmentFilter; path?: string },
): Promise<void> {
  const types = await findAttributeTypes(connection, caller.workspace._id)
  const campaigns = await readableCampaigns({ connection, authorizer }, caller, filter)
  const errors = filterErrors(filter, { types, campaigns })
  if (errors.length === 0) return
  throw new Problem('validation_failed', {
    errors: errors.map((error) => ({ ...error, path: `${path}${error.path}` })),
  })
}

/** Those of the campaigns that a filter names. */
async function readableCampaigns(
  { connection, authorizer }: Pick<Dependencies, 'connection' | 'authorizer'>,
  caller: Caller,
  filter: SegmentFilter,
): Promise<Set<string>> {
  const ids = campaignConditions(filter).map(({ campaign }) => campaign.id)
  if (ids.length === 0) return new Set()
  const read = await authorizer.decide(caller, 'campaigns', 'read')
  if (read.kind === 'none') return new Set()
  const named = { _id: { $in: ids }, workspace: caller.workspace._id }
  const found = await connection
    .collection<{ _id: string; workspace: number }>('campaigns')
    .find(read.kind === 'some' ? { $and: [named, read.filter] } : named, { maxTimeMS: QUERY_MS })
    .toArray()
  return new Set(found.map(({ _id }) => _id))
}
