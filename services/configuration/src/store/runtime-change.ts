import type { ResourceDefinition } from '../resources/definition.ts'
import type { Database } from './database.ts'
import { type Address, type LiveDocument, type ResourceDocument, RUNTIME } from './stored-document.ts'
import { changeDocument } from './write-document.ts'

/** Changes a document in the runtime's name, in one write; false where it is gone, or `changed` finds nothing to change. */
export async function changeAsRuntime(
  options: { database: Database; definition: ResourceDefinition; address: Address },
  changed: (doc: ResourceDocument) => ResourceDocument | undefined,
): Promise<boolean> {
  const unchanged = new Error('nothing to change')
  const next = (current: LiveDocument | undefined): ResourceDocument => {
    const doc = current && changed(current.doc)
    if (doc === undefined) throw unchanged
    return doc
  }
  try {
    await changeDocument({ ...options, author: RUNTIME, guard: {}, next })
    return true
  } catch (error) {
    if (error === unchanged) return false
    throw error
  }
}
