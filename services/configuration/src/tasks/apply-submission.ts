import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import type { TaskSubmission } from '@parley/shared/task-submission'
import { withoutOwnFields } from '../documents/body.ts'
import { definitions } from '../resources/all-resources.ts'
import { liveDocument } from '../store/stored-document.ts'
import { applyOnce, changeActiveTask, type Needed, startTask } from './change-task.ts'
import { findTask, firstTask, readDocument, type TaskThread, withChannel } from './find-task.ts'

type SubmissionOutcome =
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

/**
 * Applies what an answer submits to the task of its thread, once for each message id. Throws a `Problem` below
 * 500 for what can't be recorded, and whatever the database throws.
 */
export async function applySubmission(needed: Needed, submitted: TaskSubmission): Promise<SubmissionOutcome> {
  const submission = await withChannel(needed.database, submitted)
  return applyOnce(needed, submission, () => submitOnce(needed, submission))
}

async function submitOnce(
  needed: Needed,
  submission: TaskSubmission,
): Promise<Exclude<SubmissionOutcome, 'repeated'>> {
  const { database } = needed
  const found = await findTask(database, { ...submission, status: 'active' })
  if (found !== null) {
    const change = { ...submission, id: found._id.id }
    await changeActiveTask(needed, change, (task) => after(needed, submission, task))
    return 'advanced'
  }
  if (await isStopped(needed, submission)) return 'stopped'
  if (submission.submit.cancel === true) return 'no_task'
  const fields = await firstTask(database, submission)
  if (fields === undefined) return 'no_task'
  await startTask(needed, submission, await after(needed, submission, fields))
  return 'started'
}

/** True if the thread has a task that somebody has stopped. */
export async function isStopped(
  { database }: Pick<Needed, 'database'>,
  thread: TaskThread,
): Promise<boolean> {
  for (const status of ['pending', 'failed'] as const) {
    if ((await findTask(database, { ...thread, status })) !== null) return true
  }
  return false
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
  return advance({ task: withoutOwnFields(definitions.tasks, task), submit, step, workflowDeleted })
}

/** The task, workflow and step that a submission applies to. */
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

export const objectOr = (value: unknown): JsonObject => jsonObject.safeParse(value).data ?? {}
