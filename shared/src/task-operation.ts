import { z } from 'zod'
import { jsonObject, safeInteger } from './json-object.ts'

/** The longest key that `setState` takes, in characters. */
export const MAX_STATE_KEY = 128

/** An agent's operation on the task of its thread, as configuration applies it. */
const operation = z.discriminatedUnion('kind', [
  /** The yield of the step; moves the task on like a submission of queue `tasks`. */
  z.object({ kind: z.literal('submit'), submit: jsonObject }),
  /** Starts the workflow of that name, where the thread has no task that is not at its end. */
  z.object({ kind: z.literal('createTask'), workflow: z.string() }),
  /** Goes to the step of that name of the task's workflow. */
  z.object({ kind: z.literal('changeStep'), step: z.string() }),
  z.object({ kind: z.literal('cancelTask') }),
  /** Puts the value under the key in `context.state`. */
  z.object({ kind: z.literal('setState'), key: z.string().min(1).max(MAX_STATE_KEY), value: z.unknown() }),
])

/** An operation on the task of a thread, as the dispatcher asks configuration for it. */
export const taskOperation = z.object({
  /** Message, turn and call: what comes again under one id is the same operation. */
  id: z.string().min(1).max(2_048),
  channelId: safeInteger,
  /** The channel's external id; left out by what runs in no channel, and by earlier releases. */
  channel: z.string().optional(),
  /** True when the thread is the first of its name: a task that no channel has used yet is that one's. */
  isFirst: z.boolean().optional(),
  /** Whose job and configs name the workflows to start. */
  assistantId: safeInteger.nullable(),
  thread: z.string(),
  operation,
})
export type TaskOperation = z.output<typeof taskOperation>

/** The outcome, in a sentence for the model. */
export const taskOperationResult = z.object({ state: z.enum(['done', 'failed']), text: z.string() })
export type TaskOperationResult = z.output<typeof taskOperationResult>
