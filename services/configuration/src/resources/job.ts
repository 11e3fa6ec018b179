import { z } from 'zod'
import { optionalId, optionalIds, type ResourceDefinition, text } from './definition.ts'

export const job: ResourceDefinition = {
  name: 'jobs',
  title: 'Job',
  description: 'What an assistant is there for, and the workflow that its tasks begin with.',
  example: { role: 'Agent', goal: 'Help', description: 'Helps customers', actions: [1], defaultWorkflow: 1 },
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
