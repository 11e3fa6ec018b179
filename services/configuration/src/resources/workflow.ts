import { z } from 'zod'
import { optionalId, optionalIds, optionalText, type ResourceDefinition, text } from './definition.ts'

export const workflow: ResourceDefinition = {
  name: 'workflows',
  title: 'Workflow',
  description: 'Steps that a task goes through.',
  example: { name: 'Onboarding', description: 'In steps', instructions: '', steps: [1, 2], firstStep: 1 },
  schema: z.strictObject({
    name: text,
    description: text,
    instructions: optionalText,
    steps: optionalIds,
    firstStep: optionalId,
  }),
  indexed: { name: 'text', firstStep: 'integer', steps: 'integers' },
  references: [
    { field: 'steps', to: 'steps' },
    { field: 'firstStep', to: 'steps' },
  ],
}
