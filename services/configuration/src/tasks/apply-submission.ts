import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { Problem } from '@parley/shared/problem'
import type { TaskSubmission } from '@parley/shared/task-submission'
import { buildDocument, withoutOwnFields } from '../documents/body.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { task as definition } from '../resources/task.ts'
import {
  type Author,
  type LiveDocument,
  liveDocument,
  type ResourceDocument,
} from '../store/stored-document.ts'
import { AlreadyApplied, changeDocument, createDocument, KeyTaken } from '../store/write-document.ts'
import { findTask, firstTask, isApplied, readDocument } from './find-task.ts'

const MAX_ATTEMPTS = 20

/** The author in history and events for changes that a submission made. */
const RUNTIME: Author = { _id: 0, username: 'runtime' }

export type SubmissionOutcome =
  /** The thread's task has it. */
  | 'advanced'
  /** A task was started for the thread, and has it. */
  | 'started'
  /** It was recorded before. */
  | 'repeated'
  /** The thread's task is pending or failed: somebody has stopped it, and it takes nothing. */
  | 'stopped'
  /** The thread has no task, and its assistant no workflow to start. */
  | 'no_task'

/** The task is not the thread's active one any more. */
class Overtaken extends Error {}

type Needed = Pick<Dependencies, 'database' | 'ids' | 'writes' | 'secrets'>

/**
 * Applies what an answer submits to the task of its thread, once for each message id. Throws a `Problem` below
 * 500 for what can't be recorded, and whatever the database throws.
 */
export async function applySubmission(
  needed: Needed,
  submission: TaskSubmission,
): Promise<SubmissionOutcome> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (await isApplied(needed.database, submission)) return 'repeated'
    try {
      return await applyOnce(needed, submission)
    } catch (error) {
      // Another instance of the service has the same submission.
      if (error instanceof AlreadyApplied || error instanceof KeyTaken) return 'repeated'
      if (!(error instanceof Overtaken)) throw error
    }
  }
  throw new Problem('unavailable', { detail: 'Too many others are writing the tasks of this thread.' })
}

async function applyOnce(needed: Needed, submission: TaskSubmission): Promise<SubmissionOutcome> {
  const { database } = needed
  const found = await findTask(database, { ...submission, status: 'active' })
  if (found !== null) {
    await advanceTask(needed, submission, found._id.id)
    return 'advanced'
  }
  for (const status of ['pending', 'failed'] as const) {
    if ((await findTask(database, { ...submission, status })) !== null) return 'stopped'
  }
  if (submission.submit.cancel === true) return 'no_task'
  const fields = await firstTask(database, submission)
  if (fields === undefined) return 'no_task'
  await startTask(needed, submission, fields)
  return 'started'
}

function advanceTask(needed: Needed, submission: TaskSubmission, id: number): Promise<unknown> {
  const { database, writes } = needed
  const { workspace, messageId, thread } = submission
  const next = async (current: LiveDocument | undefined): Promise<ResourceDocument> => {
    const task = current?.doc
    if (task?.status !== 'active' || task.extId !== thread) throw new Overtaken()
    return built(needed, submission, { id, current: task, fields: await after(needed, submission, task) })
  }
  const change = { database, definition, address: { workspace, id }, author: RUNTIME, guard: {}, next }
  return writes.run(`tasks/${workspace}/${id}`, () => changeDocument({ ...change, applying: messageId }))
}

async function startTask(needed: Needed, submission: TaskSubmission, first: JsonObject): Promise<void> {
  const { database, ids } = needed
  const { workspace, messageId } = submission
  const fields = await after(needed, submission, first)
  const build = (id: number) => built(needed, submission, { id, current: undefined, fields })
  const creation = { database, ids, definition, workspace, author: RUNTIME, build }
  await createDocument({ ...creation, applying: messageId })
}

/** The task's fields after the submission. */
async function after(
  { database }: Needed,
  { workspace, submit }: TaskSubmission,
  task: JsonObject,
): Promise<JsonObject> {
  const step = await readDocument(database, 'steps', { workspace, id: task.currentStep })
  const workflow = { workspace, id: task.workflow as number }
  const stored = await database.documents('workflows').findOne({ _id: workflow })
  const workflowDeleted = stored !== null && liveDocument(stored) === undefined
  return advance({ task: withoutOwnFields(task), submit, step, workflowDeleted })
}

function built(
  { secrets }: Needed,
  { workspace }: TaskSubmission,
  document: { id: number; current: ResourceDocument | undefined; fields: JsonObject },
): ResourceDocument {
  return buildDocument({ secrets, definition, workspace, by: 'runtime', ...document })
}

/** What a submission meets. */
interface Meeting {
  /** The fields of an active task. */
  task: JsonObject
  submit: JsonObject
  /** The step that the task is at; undefined where there is none under that id. */
  step: JsonObject | undefined
  /** There was such a workflow, and somebody deleted it. */
  workflowDeleted: boolean
}

/**
 * The fields of the task after a submission: it is recorded in `context.steps` under the step's id, and the task
 * moves to the step's `next`, or is completed where there is none. It is cancelled by `cancel: true` in the
 * submission, and when its workflow was deleted. A task at a step that is not there stays: what comes next is
 * not known.
 */
export function advance({ task, submit, step, workflowDeleted }: Meeting): JsonObject {
  const recorded = { ...task, context: withStep(task.context, String(task.currentStep), submit) }
  if (submit.cancel === true || workflowDeleted) return { ...recorded, status: 'cancelled' }
  if (step === undefined) return recorded
  if (typeof step.next === 'number') return { ...recorded, currentStep: step.next }
  return { ...recorded, status: 'completed' }
}

function withStep(context: unknown, step: string, submit: JsonObject): JsonObject {
  const around = objectOr(context)
  return { ...around, steps: { ...objectOr(around.steps), [step]: submit } }
}

const objectOr = (value: unknown): JsonObject => jsonObject.safeParse(value).data ?? {}
