import { jsonObject } from '@parley/shared/json-object'
import { z } from 'zod'
import { extId, id, type ResourceDefinition, text } from './definition.ts'
import { isTransition, reachable, TASK_STATUSES, type TaskStatus } from './task-transitions.ts'

/** By thread and status, so that a thread with many ended tasks costs no more. */
export const TASK_LOOKUP = ['extId', 'status'] as const

export const task: ResourceDefinition = {
  name: 'tasks',
  title: 'Task',
  description: 'One run of a workflow, for one thread; answers that are submitted move it from step to step.',
  example: {
    workflow: 1,
    currentStep: 1,
    status: 'active',
    name: 'Onboard',
    description: 'Onboard a customer',
    extId: 'thread-1',
    context: { a: { b: [1, 2] } },
  },
  schema: z.strictObject({
    workflow: id,
    currentStep: id.describe('The step whose submission it waits for'),
    status: z.enum(TASK_STATUSES).describe('`completed` and `cancelled` are set by the runtime only'),
    name: text,
    description: text,
    extId: extId.nullish().describe('The thread that the task belongs to'),
    context: jsonObject.nullish().describe('Free-form; `steps` in it has what was submitted, by step'),
  }),
  indexed: { extId: 'text', name: 'text', workflow: 'integer', currentStep: 'integer', status: 'text' },
  references: [
    { field: 'workflow', to: 'workflows' },
    { field: 'currentStep', to: 'steps' },
  ],
  lookups: [TASK_LOOKUP],
  appliesMessages: true,
  own: {
    shape: {
      channel: z
        .string()
        .optional()
        .describe('The external id of the channel whose thread it belongs to, once one has used it'),
    },
    example: {},
    // A task that is given to another thread is used by none yet.
    valuesOf: ({ from, to }) =>
      from?.channel === undefined || from.extId !== to.extId ? {} : { channel: from.channel },
  },
  thread: 'extId',
  errorsOfChange: ({ by, from, to }) => {
    // Both have passed the schema.
    const [before, after] = [from?.status as TaskStatus | undefined, to.status as TaskStatus]
    if (isTransition({ by, from: before, to: after })) return []
    const message = `${after} can't be set here; send one of ${reachable(by, before).join(', ')}`
    return [{ path: '/status', code: 'not_settable', message }]
  },
}
