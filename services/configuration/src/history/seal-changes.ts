import { defined } from '@parley/shared/defined'
import { type SecretBox, sealSecrets } from '@parley/shared/sealed-value'
import { isCredentialsName } from '@parley/shared/secret-names'
import { reachAt } from '../secrets/presenter.ts'
import type { Database, FieldChange, HistoryEntry } from '../store/database.ts'

const NAME = '/name'
const MAX_RENAMES = 1_000

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
