import { defined } from '@parley/shared/defined'
import type { JsonObject } from '@parley/shared/json-object'
import { Problem } from '@parley/shared/problem'
import { buildDocument } from '../documents/body.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { task as definition } from '../resources/task.ts'
import { type LiveDocument, type ResourceDocument, RUNTIME } from '../store/stored-document.ts'
import { AlreadyApplied, changeDocument, createDocument, KeyTaken } from '../store/write-document.ts'
import { isApplied, isOfThread, type TaskThread } from './find-task.ts'

const MAX_ATTEMPTS = 20

/** The task is not the thread's active one any more. */
class Overtaken extends Error {}

export type Needed = Pick<Dependencies, 'database' | 'ids' | 'writes' | 'secrets'>

/** A change that the runtime applies to a task of a thread, once for each `messageId`. */
interface Applying extends TaskThread {
  messageId: string
}

/**
 * Runs `apply` until it was not overtaken by another write; `repeated` when its id was applied before, here or by
 * another instance. Rejects with `unavailable` after 20 attempts.
 */
export async function applyOnce<T>(
  { database }: Pick<Needed, 'database'>,
  applying: Applying,
  apply: () => Promise<T>,
): Promise<T | 'repeated'> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (await isApplied(database, applying)) return 'repeated'
    try {
      return await apply()
    } catch (error) {
      // Another instance of the service has the same one.
      if (error instanceof AlreadyApplied || error instanceof KeyTaken) return 'repeated'
      if (!(error instanceof Overtaken)) throw error
    }
  }
  throw new Problem('unavailable', { detail: 'Too many others are writing the tasks of this thread.' })
}

/** Replaces the fields of the thread's active task; overtaken when the task is not that any more. */
export function changeActiveTask(
  needed: Needed,
  applying: Applying & { id: number },
  fieldsOf: (task: JsonObject) => JsonObject | Promise<JsonObject>,
): Promise<unknown> {
  const { database, writes } = needed
  const { workspace, messageId, id } = applying
  const next = async (current: LiveDocument | undefined): Promise<ResourceDocument> => {
    const task = current?.doc
    if (task?.status !== 'active' || !isOfThread(task, applying)) throw new Overtaken()
    return built(needed, applying, { id, current: task, fields: await fieldsOf(task) })
  }
  const change = { database, definition, address: { workspace, id }, author: RUNTIME, guard: {}, next }
  return writes.run(`tasks/${workspace}/${id}`, () => changeDocument({ ...change, applying: messageId }))
}

/** Stores a new task with these fields. */
export async function startTask(needed: Needed, applying: Applying, fields: JsonObject): Promise<void> {
  const { database, ids } = needed
  const { workspace, messageId } = applying
  const build = (id: number) => built(needed, applying, { id, current: undefined, fields })
  const creation = { database, ids, definition, workspace, author: RUNTIME, build }
  await createDocument({ ...creation, applying: messageId })
}

function built(
  { secrets }: Needed,
  { workspace, channel }: Applying,
  { fields, ...document }: { id: number; current: ResourceDocument | undefined; fields: JsonObject },
): ResourceDocument {
  // From its first use on, the task is the channel's.
  return buildDocument({
    ...{ secrets, definition, workspace, ...document },
    fields: { ...fields, ...defined({ channel }) },
  })
}
