import { z } from 'zod'
import type { Dependencies } from '../documents/dependencies.ts'
import { definitions } from '../resources/all-resources.ts'
import { changeAsRuntime } from '../store/runtime-change.ts'
import type { ResourceDocument } from '../store/stored-document.ts'

const MAX_REASON = 1_024

/** Whether the server of an action gives its tools. */
export const serverMark = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('working') }),
  z.strictObject({ state: z.literal('failing'), reason: z.string().max(MAX_REASON) }),
])

/** Marks an action, each in one write that its next event reports; false where nothing changes. */
export async function markServer(
  { database, writes }: Pick<Dependencies, 'database' | 'writes'>,
  address: { workspace: number; id: number },
  mark: z.output<typeof serverMark>,
): Promise<boolean> {
  const change = { database, definition: definitions.actions, address }
  const key = `actions/${address.workspace}/${address.id}`
  return writes.run(key, () => changeAsRuntime(change, (doc) => markedBy(doc, mark)))
}

/** Undefined where it stays as it is. */
function markedBy(doc: ResourceDocument, mark: z.output<typeof serverMark>): ResourceDocument | undefined {
  const updatedAt = new Date().toISOString()
  const { failing, ...unmarked } = doc
  const { reason, since } = (failing ?? {}) as { reason?: string; since?: string }
  if (mark.state === 'working')
    return failing === undefined ? undefined : { ...(unmarked as ResourceDocument), updatedAt }
  if (reason === mark.reason) return undefined
  return { ...doc, updatedAt, failing: { since: since ?? updatedAt, reason: mark.reason } }
}
