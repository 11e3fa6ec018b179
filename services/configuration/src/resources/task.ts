import { KINDS } from '@parley/shared/configuration-resources'
import { type TaskStatus, taskDocument } from '@parley/shared/documents/workflow'
import { z } from 'zod'
import { type ResourceDefinition, referencesOf } from './definition.ts'
import { isTransition, reachable } from './task-transitions.ts'

/** By thread and status, so that a thread with many ended tasks costs no more. */
export const TASK_LOOKUP = ['extId', 'status'] as const

export const task: ResourceDefinition = {
  name: 'tasks',
  ...KINDS.tasks,
  example: {
    workflow: 1,
    currentStep: 1,
    status: 'active',
    name: 'Onboard',
    description: 'Onboard a customer',
    extId: 'thread-1',
    context: { a: { b: [1, 2] } },
  },
  schema: taskDocument.body,
  indexed: { extId: 'text', name: 'text', workflow: 'integer', currentStep: 'integer', status: 'text' },
  references: referencesOf('tasks'),
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
