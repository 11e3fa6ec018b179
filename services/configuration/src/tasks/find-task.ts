import type { ResourceName } from '@parley/shared/configuration-resources'
import type { TaskStatus } from '@parley/shared/documents/workflow'
import type { JsonObject } from '@parley/shared/json-object'
import type { TaskSubmission } from '@parley/shared/task-submission'
import { TASK_LOOKUP } from '../resources/task.ts'
import type { Database } from '../store/database.ts'
import {
  indexedText,
  LIVE,
  liveDocument,
  lookupIndex,
  type StoredDocument,
} from '../store/stored-document.ts'

const MAX_MS = 5_000

/** A thread, which is a channel's. */
export interface TaskThread {
  workspace: number
  thread: string
  /** The external id of its channel; undefined where it is of none. */
  channel?: string | undefined
  /** True if it is the first thread of its name, which owns tasks that no channel has used yet. The default is true. */
  isFirst?: boolean | undefined
}

/** The task of a thread in a status, one that is its channel's own first; of several the one with the lowest id. */
export async function findTask(
  database: Pick<Database, 'documents'>,
  { status, isOfAny = false, ...thread }: TaskThread & { status: TaskStatus; isOfAny?: boolean },
): Promise<StoredDocument | null> {
  const index = lookupIndex(TASK_LOOKUP)
  const [own = {}, ...unused] = isOfAny ? [] : channelsOf(thread)
  // Between two look-ups the channel may have taken one.
  for (const ofChannel of unused.length === 0 ? [own] : [own, ...unused, own]) {
    const found = await database.documents('tasks').findOne(
      {
        '_id.workspace': thread.workspace,
        ...LIVE,
        'keys.status': status,
        'keys.extId': indexedText(thread.thread),
        'doc.extId': thread.thread,
        ...ofChannel,
      },
      { hint: index, sort: index, maxTimeMS: MAX_MS },
    )
    if (found !== null) return found
  }
  return null
}

const OF_NO_CHANNEL = { 'doc.channel': { $exists: false } }

/** The thread that something is applied to; an earlier release names its channel by the id alone. */
export async function withChannel<T extends TaskThread & { channelId: number }>(
  database: Documents,
  given: T,
): Promise<T> {
  if (given.channel !== undefined) return given
  const { workspace, channelId: id } = given
  const extId = (await readDocument(database, 'channels', { workspace, id }))?.extId
  return typeof extId === 'string' ? { ...given, channel: extId } : given
}

/** Filters of the tasks that may be a thread's, the nearest first. */
export function channelsOf({ channel, isFirst }: Pick<TaskThread, 'channel' | 'isFirst'>): object[] {
  if (channel === undefined) return [OF_NO_CHANNEL]
  return [{ 'doc.channel': channel }, ...(isFirst === false ? [] : [OF_NO_CHANNEL])]
}

/** True if a task belongs to a thread, or may come to belong to it. */
export function isOfThread(
  task: JsonObject,
  { thread, channel, isFirst }: Pick<TaskThread, 'thread' | 'channel' | 'isFirst'>,
): boolean {
  if (task.extId !== thread) return false
  return task.channel === undefined ? channel === undefined || isFirst !== false : task.channel === channel
}

/** True if a submission was recorded before, also in a task that was deleted since. */
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

type Documents = Pick<Database, 'documents'>

/**
 * The task that a thread without one begins with: at the first step of the default workflow of its assistant's
 * job. Undefined where one of these is missing.
 */
export async function firstTask(
  database: Documents,
  { workspace, assistantId, thread }: TaskSubmission,
): Promise<JsonObject | undefined> {
  const read = (resource: ResourceName, id: unknown) => readDocument(database, resource, { workspace, id })
  const assistant = await read('assistant', assistantId)
  const job = await read('jobs', assistant?.job)
  const workflow = await read('workflows', job?.defaultWorkflow)
  return workflow && taskOf(workflow, thread)
}

/** A new task of a workflow, at its first step; undefined where it has none. */
export function taskOf(workflow: JsonObject, thread: string): JsonObject | undefined {
  const first = workflow.firstStep ?? (workflow.steps as number[] | null | undefined)?.[0]
  if (first === undefined) return undefined
  return {
    workflow: workflow._id,
    currentStep: first,
    status: 'active',
    name: workflow.name,
    description: workflow.description,
    extId: thread,
  }
}

/** The task that something was applied to, if there is one still. */
export async function appliedTask(
  database: Pick<Database, 'documents'>,
  { workspace, messageId }: { workspace: number; messageId: string },
): Promise<JsonObject | undefined> {
  const found = await database
    .documents('tasks')
    .findOne({ '_id.workspace': workspace, applied: messageId }, { maxTimeMS: MAX_MS })
  return liveDocument(found)?.doc
}

const MAX_STEPS = 200

/** The steps of a workflow in its order, 200 at most: those it lists, else those that its first step leads to. */
export async function stepsOf(
  database: Documents,
  { workspace, workflow }: { workspace: number; workflow: JsonObject },
): Promise<JsonObject[]> {
  const listed = ((workflow.steps as number[] | null | undefined) ?? []).slice(0, MAX_STEPS)
  const steps: JsonObject[] = []
  const seen = new Set<unknown>()
  const add = async (id: unknown) => {
    if (seen.has(id) || steps.length >= MAX_STEPS) return undefined
    seen.add(id)
    const step = await readDocument(database, 'steps', { workspace, id })
    if (step !== undefined) steps.push(step)
    return step
  }
  for (const id of listed) await add(id)
  if (listed.length > 0) return steps
  for (let step = await add(workflow.firstStep); step !== undefined; ) step = await add(step.next)
  return steps
}

/** The document that a reference leads to, if there is one. */
export async function readDocument(
  database: Documents,
  resource: ResourceName,
  { workspace, id }: { workspace: number; id: unknown },
): Promise<JsonObject | undefined> {
  if (typeof id !== 'number') return undefined
  return liveDocument(await database.documents(resource).findOne({ _id: { workspace, id } }))?.doc
}
