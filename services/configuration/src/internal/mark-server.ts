import { z } from 'zod'
import type { Dependencies } from '../documents/dependencies.ts'
import { definitions } from '../resources/all-resources.ts'
import type { Author, LiveDocument, ResourceDocument } from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'

/** The author in history and events for what the runtime itself changes. */
const RUNTIME: Author = { _id: 0, username: 'runtime' }
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
  const unchanged = new Error('nothing to mark')
  const next = (current: LiveDocument | undefined): ResourceDocument => {
    const marked = current && markedBy(current.doc, mark)
    if (marked === undefined) throw unchanged
    return { ...marked, updatedAt: new Date().toISOString() }
  }
  const change = { database, definition: definitions.actions, address, author: RUNTIME, guard: {}, next }
  try {
    await writes.run(`actions/${address.workspace}/${address.id}`, () => changeDocument(change))
    return true
  } catch (error) {
    if (error === unchanged) return false
    throw error
  }
}

/** Undefined where it stays as it is. */
function markedBy(doc: ResourceDocument, mark: z.output<typeof serverMark>): ResourceDocument | undefined {
  const { failing, ...unmarked } = doc
  const { reason, since } = (failing ?? {}) as { reason?: string; since?: string }
  if (mark.state === 'working') return failing === undefined ? undefined : (unmarked as ResourceDocument)
  if (reason === mark.reason) return undefined
  return { ...doc, failing: { since: since ?? new Date().toISOString(), reason: mark.reason } }
}
