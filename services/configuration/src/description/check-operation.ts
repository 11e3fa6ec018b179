import { safeInteger } from '@parley/shared/json-object'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import type { Finding } from '../check/finding.ts'
import { RESOURCES } from '../resources/definition.ts'
import { after } from './parameters.ts'

const finding = z.object({
  code: z.enum([
    'dangling_reference',
    'unreachable_step',
    'step_cycle',
    'bad_spec',
    'bad_handler',
    'shadowed',
    'not_checked',
  ]),
  resource: z.enum(RESOURCES),
  _id: safeInteger,
  path: z.string().describe('Where in the document, as a JSON Pointer'),
  message: z.string(),
}) satisfies z.ZodType<Finding>

export const checkOperation: DescribedOperation = {
  method: 'GET',
  path: '/rest/check',
  id: 'checkConfiguration',
  tag: 'configuration',
  summary: 'List what is wrong with the configuration',
  description: 'Up to 500 findings, or what is found in 3 seconds; `next` goes on from there.',
  parameters: [after],
  response: {
    schema: z.object({ data: z.array(finding), next: z.string().nullable() }).meta({ id: 'FindingPage' }),
    example: {
      data: [
        {
          code: 'dangling_reference',
          resource: 'assistant',
          _id: 1,
          path: '/job',
          message: 'there is no jobs/7',
        },
      ],
      next: null,
    },
  },
  errors: ['validation_failed'],
}
