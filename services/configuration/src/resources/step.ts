import { z } from 'zod'
import { optionalId, type ResourceDefinition, text } from './definition.ts'

export const step: ResourceDefinition = {
  name: 'steps',
  title: 'Step',
  description: 'One step of a workflow: what it is to accomplish, and when its answer is submitted.',
  example: {
    name: 'Greet',
    description: 'Greet the user',
    instructions: 'Say hello',
    submitWhen: 'the user answered',
    job: 1,
    next: 2,
  },
  schema: z.strictObject({
    name: text,
    description: text.describe('What the step is to accomplish'),
    instructions: text.describe('For the assistant that completes it'),
    submitWhen: text.describe('When the step counts as complete, and its answer is submitted'),
    job: optionalId.describe('A job that it overrides'),
    next: optionalId.describe('The step after it; none completes the task'),
  }),
  indexed: { name: 'text', job: 'integer', next: 'integer' },
  references: [
    { field: 'job', to: 'jobs' },
    { field: 'next', to: 'steps' },
  ],
}
