import { z } from 'zod'
import { documentOf } from './fields.ts'

/** Steps that a task goes through. */
export const workflowDocument = documentOf(({ text, optionalText, optionalId, optionalIds }) => ({
  name: text,
  description: text,
  instructions: optionalText,
  steps: optionalIds,
  firstStep: optionalId,
}))

/** One step of a workflow. */
export const stepDocument = documentOf(({ text, optionalId }) => ({
  name: text,
  description: text.describe('What the step is to accomplish'),
  instructions: text.describe('For the assistant that completes it'),
  submitWhen: text.describe('When the step counts as complete, and its answer is submitted'),
  job: optionalId.describe('A job that it overrides'),
  next: optionalId.describe('The step after it; none completes the task'),
}))

/** The statuses of a task; the last two are ends that only the runtime reaches. */
export const TASK_STATUSES = ['active', 'pending', 'failed', 'completed', 'cancelled'] as const

export type TaskStatus = (typeof TASK_STATUSES)[number]

/** One run of a workflow, for one thread. */
export const taskDocument = documentOf(({ text, extId, id, optionalObject }) => ({
  workflow: id,
  currentStep: id.describe('The step whose submission it waits for'),
  status: z.enum(TASK_STATUSES).describe('`completed` and `cancelled` are set by the runtime only'),
  name: text,
  description: text,
  extId: extId.nullish().describe('The thread that the task belongs to'),
  context: optionalObject.describe('Free-form; `steps` in it has what was submitted, by step'),
}))
export type Task = z.output<typeof taskDocument.stored>
