import { defined } from '@parley/shared/defined'
import { type SecretBox, sealSecrets } from '@parley/shared/sealed-value'
import { reachAt } from '../secrets/presenter.ts'
import type { FieldChange } from '../store/database.ts'

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
