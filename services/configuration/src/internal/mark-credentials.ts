import { CREDENTIALS_CONFIG } from '@parley/shared/documents/assistant'
import { z } from 'zod'
import { ownedConfigs } from '../credentials/used-configs.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { config as definition } from '../resources/config.ts'
import { changeAsRuntime } from '../store/runtime-change.ts'
import type { ResourceDocument } from '../store/stored-document.ts'

const MAX_REASON = 1_024

/** What became of asking for access tokens with the credentials of an action. */
export const credentialsMark = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('working') }),
  z.strictObject({ state: z.literal('refused'), reason: z.string().max(MAX_REASON) }),
])

/** Marks the credentials of an action, each in one write that its next event reports; false where nothing changes. */
export async function markCredentials(
  { database, writes }: Pick<Dependencies, 'database' | 'writes'>,
  { workspace, action }: { workspace: number; action: number },
  mark: z.output<typeof credentialsMark>,
): Promise<boolean> {
  const owned = await ownedConfigs({ database, workspace }, { owner: action, ownerType: 'action' })
  const [credentials] = owned.filter(({ name }) => name === CREDENTIALS_CONFIG)
  if (credentials === undefined) return false
  const id = credentials._id
  const change = { database, definition, address: { workspace, id } }
  return writes.run(`configs/${workspace}/${id}`, () => changeAsRuntime(change, (doc) => markedBy(doc, mark)))
}

/** Undefined where it stays as it is. */
function markedBy(
  doc: ResourceDocument,
  mark: z.output<typeof credentialsMark>,
): ResourceDocument | undefined {
  const updatedAt = new Date().toISOString()
  const { refused, ...unmarked } = doc
  const { reason, since } = (refused ?? {}) as { reason?: string; since?: string }
  if (mark.state === 'working')
    return refused === undefined ? undefined : { ...(unmarked as ResourceDocument), updatedAt }
  if (reason === mark.reason) return undefined
  return { ...doc, updatedAt, refused: { since: since ?? updatedAt, reason: mark.reason } }
}
