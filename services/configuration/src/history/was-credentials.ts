import { isCredentialsName } from '@parley/shared/secret-names'
import type { Database, HistoryEntry } from '../store/database.ts'

const NAME = '/name'
const MAX_RENAMES = 1_000

/** Whether a document is, or was once, a config whose value is secret as a whole; `name` is its present one. */
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
