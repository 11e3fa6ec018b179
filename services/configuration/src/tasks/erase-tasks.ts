import { buildDocument, withoutOwnFields } from '../documents/body.ts'
import { task as definition, TASK_LOOKUP } from '../resources/task.ts'
import { ERASURE, indexedText, LIVE, lookupIndex } from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'
import type { Needed } from './change-task.ts'

const MAX_MS = 5_000

/**
 * Empties the context of every task of a thread. The history of such a change says nothing of what was there, and what
 * it says of the context until then goes as well.
 */
export async function eraseTasks(
  { database, secrets, writes }: Needed,
  { workspace, thread }: { workspace: number; thread: string },
): Promise<void> {
  const index = lookupIndex(TASK_LOOKUP)
  const found = database
    .documents('tasks')
    .find(
      { '_id.workspace': workspace, ...LIVE, 'keys.extId': indexedText(thread), 'doc.extId': thread },
      { hint: index, projection: { _id: 1 }, maxTimeMS: MAX_MS },
    )
  for await (const { _id: address } of found)
    await writes.run(`tasks/${workspace}/${address.id}`, () =>
      changeDocument({
        ...{ database, definition, address, author: ERASURE, guard: {} },
        next: (current) =>
          current &&
          buildDocument({
            ...{ secrets, definition, workspace, by: 'runtime', id: address.id, current: current.doc },
            fields: { ...withoutOwnFields(definition, current.doc), context: {} },
          }),
      }),
    )
}
