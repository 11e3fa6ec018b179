import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import { documentFilter } from '../access/document-filter.ts'
import type { ResourceName } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import { LIVE } from '../store/indexes.ts'
import type { StoredDocument } from '../store/stored-document.ts'

const IDS_PER_QUERY = 5_000

export interface Lookup {
  database: Database
  authorizer: Authorizer
  caller: Caller
}

/** The documents with these ids that are there for the caller to read, as they are stored. */
export async function* findReferenced(
  { database, authorizer, caller }: Lookup,
  requested: { to: ResourceName; ids: Iterable<number>; idsOnly: boolean },
): AsyncGenerator<StoredDocument> {
  const read = await authorizer.decide(caller, requested.to, 'read')
  const ids = [...new Set(requested.ids)]
  for (let at = 0; at < ids.length; at += IDS_PER_QUERY) {
    const some = ids.slice(at, at + IDS_PER_QUERY).map((id) => ({ workspace: caller.workspace._id, id }))
    yield* database
      .documents(requested.to)
      .find({ $and: [{ _id: { $in: some }, ...LIVE }, documentFilter(read)] })
      .project<StoredDocument>(requested.idsOnly ? { _id: 1 } : {})
  }
}
