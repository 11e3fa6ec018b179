import { z } from 'zod'
import type { ResourceDefinition } from './definition.ts'
import { optionalId, optionalIds, text } from './fields.ts'

export const assistant: ResourceDefinition = {
  name: 'assistant',
  schema: z.strictObject({
    name: text,
    description: text,
    backstory: text,
    actions: optionalIds,
    configs: optionalIds,
    job: optionalId,
  }),
  indexed: { name: 'text', job: 'integer', actions: 'integers', configs: 'integers' },
  references: [
    { field: 'actions', to: 'actions' },
    { field: 'configs', to: 'configs' },
    { field: 'job', to: 'jobs' },
  ],
}
