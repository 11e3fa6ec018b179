import { TASK_LOOKUP } from '../resources/task.ts'
import type { TaskStatus } from '../resources/task-transitions.ts'
import type { Database } from '../store/database.ts'
import { LIVE, lookupIndex } from '../store/indexes.ts'
import { indexedText, type StoredDocument } from '../store/stored-document.ts'

const MAX_MS = 5_000

/** The task of a thread in a status; of several the one with the lowest id. */
export function findTask(
  database: Pick<Database, 'documents'>,
  { workspace, thread, status }: { workspace: number; thread: string; status: TaskStatus },
): Promise<StoredDocument | null> {
  const index = lookupIndex(TASK_LOOKUP)
  return database.documents('tasks').findOne(
    {
      '_id.workspace': workspace,
      ...LIVE,
      'keys.status': status,
      'keys.extId': indexedText(thread),
      'doc.extId': thread,
    },
    { hint: index, sort: index, maxTimeMS: MAX_MS },
  )
}

/** Whether a submission was recorded before, also in a task that was deleted since. */
export async function isApplied(
  database: Pick<Database, 'documents'>,
  { workspace, messageId }: { workspace: number; messageId: string },
): Promise<boolean> {
  const found = await database
    .documents('tasks')
    .findOne(
      { '_id.workspace': workspace, applied: messageId },
      { projection: { _id: 1 }, maxTimeMS: MAX_MS },
    )
  return found !== null
}
