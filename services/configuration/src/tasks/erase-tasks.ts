import { buildDocument, withoutOwnFields } from '../documents/body.ts'
import { task as definition, TASK_LOOKUP } from '../resources/task.ts'
import { ANY_THREAD, ERASURE, indexedText, LIVE, lookupIndex } from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'
import type { Needed } from './change-task.ts'

const MAX_MS = 5_000

/**
 * Empties the context of every task of a thread. The history of such a change says nothing of what was there, and what
 * it says of the context until then goes as well; also that of tasks which were deleted or belong to another thread now.
 * A task that belonged to more threads than are told apart counts as one of each.
 */
export async function eraseTasks(
  { database, secrets, writes }: Needed,
  { workspace, thread }: { workspace: number; thread: string },
): Promise<void> {
  const index = lookupIndex(TASK_LOOKUP)
  const options = { projection: { _id: 1 }, maxTimeMS: MAX_MS } as const
  const tasks = database.documents('tasks')
  const current = tasks.find(
    { '_id.workspace': workspace, ...LIVE, 'keys.extId': indexedText(thread), 'doc.extId': thread },
    { ...options, hint: index },
  )
  const former = tasks.find(
    { '_id.workspace': workspace, formerThreads: { $in: [thread, ANY_THREAD] } },
    options,
  )
  for (const found of [current, former])
    for await (const { _id: address } of found)
      await writes.run(`tasks/${workspace}/${address.id}`, () =>
        changeDocument({
          ...{ database, definition, address, author: ERASURE, guard: {}, erasing: thread },
          next: (task) => {
            if (task?.doc.extId !== thread) return task?.doc
            return buildDocument({
              ...{ secrets, definition, workspace, id: address.id, current: task.doc },
              fields: { ...withoutOwnFields(definition, task.doc), context: {} },
            })
          },
        }),
      )
}
