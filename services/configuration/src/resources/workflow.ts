import { z } from 'zod'
import type { ResourceDefinition } from './definition.ts'
import { optionalId, optionalIds, optionalText, text } from './fields.ts'

export const workflow: ResourceDefinition = {
  name: 'workflows',
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
