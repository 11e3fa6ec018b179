import { defined } from '@parley/shared/defined'
import { buildDocument, withoutOwnFields } from '../documents/body.ts'
import { task as definition, TASK_LOOKUP } from '../resources/task.ts'
import type { Database } from '../store/database.ts'
import {
  ANY_THREAD,
  ERASURE,
  formerThread,
  indexedText,
  LIVE,
  lookupIndex,
  type StoredDocument,
} from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'
import type { Needed } from './change-task.ts'
import { channelsOf, isOfThread, type TaskThread } from './find-task.ts'

const MAX_MS = 5_000

/** The tasks of which something is erased with a thread: those that are its, and those that were, also deleted ones. */
export async function findErasable(
  database: Pick<Database, 'documents'>,
  thread: TaskThread,
): Promise<StoredDocument[]> {
  const { workspace, channel, isFirst } = thread
  const tasks = database.documents('tasks')
  const former = [
    ...(channel === undefined ? [] : [formerThread({ extId: thread.thread, channel })]),
    ...(isFirst === false ? [] : [thread.thread, ANY_THREAD]),
  ].filter((one): one is string | typeof ANY_THREAD => one !== undefined)
  const current = await tasks
    .find(
      {
        '_id.workspace': workspace,
        ...LIVE,
        'keys.extId': indexedText(thread.thread),
        'doc.extId': thread.thread,
        $or: channelsOf(thread),
      },
      { maxTimeMS: MAX_MS, hint: lookupIndex(TASK_LOOKUP) },
    )
    .toArray()
  const earlier = await tasks
    .find({ '_id.workspace': workspace, formerThreads: { $in: former } }, { maxTimeMS: MAX_MS })
    .toArray()
  const ids = new Set(current.map(({ _id }) => _id.id))
  return [...current, ...earlier.filter(({ _id }) => !ids.has(_id.id))]
}

/**
 * Empties the context of tasks of a thread, of all where no `ids` are given. The history of such a change says nothing of
 * what was there, and what it says of the context until then goes as well; also that of tasks which were deleted or belong
 * to another thread now. With `areForgotten` they are of no thread any more, since its name is their person's. A task that belonged to more threads than are told apart counts as one of each.
 */
export async function eraseTasks(
  { database, secrets, writes }: Needed,
  {
    ids,
    areForgotten = false,
    ...thread
  }: TaskThread & { ids?: readonly number[] | undefined; areForgotten?: boolean | undefined },
): Promise<void> {
  const { workspace } = thread
  const found = await findErasable(database, thread)
  const chosen = ids === undefined ? found : found.filter(({ _id }) => ids.includes(_id.id))
  for (const { _id: address } of chosen)
    await writes.run(`tasks/${workspace}/${address.id}`, () =>
      changeDocument({
        ...{ database, definition, address, author: ERASURE, guard: {}, erasing: thread.thread },
        next: (task) => {
          if (task === undefined || !isOfThread(task.doc, thread)) return task?.doc
          const { channel } = task.doc
          return buildDocument({
            ...{ secrets, definition, workspace, id: address.id, current: task.doc },
            fields: {
              ...withoutOwnFields(definition, task.doc),
              ...{ context: {}, ...defined({ channel }) },
              ...(areForgotten && { extId: null }),
            },
          })
        },
      }),
    )
}
