import { z } from 'zod'
import type { ResourceDefinition } from './definition.ts'
import { optionalId, optionalIds, text } from './fields.ts'

export const job: ResourceDefinition = {
  name: 'jobs',
  schema: z.strictObject({
    role: text,
    goal: text,
    description: text,
    actions: optionalIds,
    defaultWorkflow: optionalId,
  }),
  indexed: { role: 'text', defaultWorkflow: 'integer', actions: 'integers' },
  references: [
    { field: 'actions', to: 'actions' },
    { field: 'defaultWorkflow', to: 'workflows' },
  ],
}
