import { z } from 'zod'
import type { ResourceDefinition } from './definition.ts'
import { optionalId, text } from './fields.ts'

export const step: ResourceDefinition = {
  name: 'steps',
  schema: z.strictObject({
    name: text,
    description: text,
    instructions: text,
    submitWhen: text,
    job: optionalId,
    next: optionalId,
  }),
  indexed: { name: 'text', job: 'integer', next: 'integer' },
  references: [
    { field: 'job', to: 'jobs' },
    { field: 'next', to: 'steps' },
  ],
}
