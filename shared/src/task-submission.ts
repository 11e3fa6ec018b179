import { z } from 'zod'
import { jsonObject, safeInteger } from './json-object.ts'

/** The `type` on queue `tasks`: the submission's schema and its version. */
export const TASK_SUBMISSION_TYPE = 'task.submitted.v1'

/** A submission of an answer to the task of its thread, as it goes from the dispatcher to configuration. */
export const taskSubmission = z.looseObject({
  workspace: safeInteger,
  /** The message whose answer it is; one that comes again is the same submission. */
  messageId: z.string().min(1),
  channelId: safeInteger,
  /** The channel's external id; left out by what runs in no channel, and by earlier releases. */
  channel: z.string().optional(),
  /** True when the thread is the first of its name: a task that no channel has used yet is that one's. */
  isFirst: z.boolean().optional(),
  /** The channel's assistant, whose job may name a workflow to start. */
  assistantId: safeInteger.nullable(),
  /** Matches the task's `extId`. */
  thread: z.string(),
  submit: jsonObject,
  /** When it was submitted, ISO 8601. */
  at: z.iso.datetime(),
})

export type TaskSubmission = z.output<typeof taskSubmission>
