import { type JsonObject, jsonObject } from '@parley/shared/json-object'

/** What a submission meets. */
export interface Meeting {
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
