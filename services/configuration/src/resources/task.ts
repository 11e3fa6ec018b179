import { jsonObject } from '@parley/shared/json-object'
import { z } from 'zod'
import type { ResourceDefinition } from './definition.ts'
import { id, optionalText, text } from './fields.ts'

/** What a caller may set at any time. */
const OPEN_STATUSES = ['active', 'pending', 'failed']

export const task: ResourceDefinition = {
  name: 'tasks',
  schema: z.strictObject({
    workflow: id,
    currentStep: id,
    status: z.enum(['active', 'pending', 'failed', 'completed', 'cancelled']),
    name: text,
    description: text,
    extId: optionalText,
    context: jsonObject.nullish(),
  }),
  indexed: { extId: 'text', name: 'text', workflow: 'integer', currentStep: 'integer', status: 'text' },
  references: [
    { field: 'workflow', to: 'workflows' },
    { field: 'currentStep', to: 'steps' },
  ],
  faultsOfChange: (from, to) => {
    if (OPEN_STATUSES.includes(String(to.status)) || from?.status === to.status) return []
    const message = `only the runtime sets ${to.status}; send ${OPEN_STATUSES.join(', ')}, or it unchanged`
    return [{ path: '/status', code: 'not_settable', message }]
  },
}
