import { z } from 'zod'
import { optionalId, optionalIds, type ResourceDefinition, text } from './definition.ts'

export const assistant: ResourceDefinition = {
  name: 'assistant',
  title: 'Assistant',
  description: 'Who a person talks to: a character, a job, and the actions it may take.',
  example: {
    name: 'Ana',
    description: 'Assistant',
    backstory: 'Knows the product',
    actions: [1, 2],
    configs: [1],
    job: 1,
  },
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
