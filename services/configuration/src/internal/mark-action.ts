import { CREDENTIALS_CONFIG } from '@parley/shared/documents/assistant'
import { z } from 'zod'
import { ownedConfigs } from '../credentials/used-configs.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { definitions } from '../resources/all-resources.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { changeAsRuntime } from '../store/runtime-change.ts'
import type { ResourceDocument } from '../store/stored-document.ts'

const MAX_REASON = 1_024

const works = z.strictObject({ state: z.literal('working') })
const reason = z.string().max(MAX_REASON)

/** What became of asking for access tokens with the credentials of an action. */
export const credentialsMark = z.discriminatedUnion('state', [
  works,
  z.strictObject({ state: z.literal('refused'), reason }),
])

/** Whether the server of an action gives its tools. */
export const serverMark = z.discriminatedUnion('state', [
  works,
  z.strictObject({ state: z.literal('failing'), reason }),
])

type Mark = z.output<typeof credentialsMark | typeof serverMark>
type Needed = Pick<Dependencies, 'database' | 'writes'>

/** Marks the credentials of an action; false where nothing changes. */
export async function markCredentials(
  needed: Needed,
  { workspace, action }: { workspace: number; action: number },
  mark: z.output<typeof credentialsMark>,
): Promise<boolean> {
  const { database } = needed
  const owned = await ownedConfigs({ database, workspace }, { owner: action, ownerType: 'action' })
  const credentials = owned.find(({ name }) => name === CREDENTIALS_CONFIG)
  if (credentials === undefined) return false
  const address = { workspace, id: credentials._id }
  return markDocument(needed, { definition: definitions.configs, address, field: 'refused', mark })
}

/** Marks an action; false where nothing changes. */
export const markServer = (
  needed: Needed,
  address: { workspace: number; id: number },
  mark: z.output<typeof serverMark>,
): Promise<boolean> =>
  markDocument(needed, { definition: definitions.actions, address, field: 'failing', mark })

/** Each mark is one write, which the document's next event reports. */
function markDocument(
  { database, writes }: Needed,
  {
    definition,
    address,
    field,
    mark,
  }: {
    definition: ResourceDefinition
    address: { workspace: number; id: number }
    field: 'refused' | 'failing'
    mark: Mark
  },
): Promise<boolean> {
  const key = `${definition.name}/${address.workspace}/${address.id}`
  const change = { database, definition, address }
  return writes.run(key, () => changeAsRuntime(change, (doc) => markedBy(doc, field, mark)))
}

/** Undefined where it stays as it is. */
function markedBy(
  doc: ResourceDocument,
  field: 'refused' | 'failing',
  mark: Mark,
): ResourceDocument | undefined {
  const updatedAt = new Date().toISOString()
  const { [field]: before, ...unmarked } = doc
  const { reason, since } = (before ?? {}) as { reason?: string; since?: string }
  if (mark.state === 'working')
    return before === undefined ? undefined : { ...(unmarked as ResourceDocument), updatedAt }
  if (reason === mark.reason) return undefined
  return { ...doc, updatedAt, [field]: { since: since ?? updatedAt, reason: mark.reason } }
}
