import { safeInteger } from '@parley/shared/json-object'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { definitions } from '../resources/all-resources.ts'
import { RESOURCES } from '../resources/definition.ts'
import { FORMAT_VERSION, TRANSFERRED } from '../transfer/transferred.ts'
import { queryFlag } from './parameters.ts'

const key = z.string().nullish().describe('The path id it was created under, where that is no integer')

const documents = TRANSFERRED.map((name) => {
  const { schema, keyed } = definitions[name]
  const own = { _id: safeInteger.nonnegative(), ...(keyed ? { key } : {}) }
  return [name, z.array(z.object({ ...own, ...schema.shape })).optional()] as const
})

const configuration = z
  .strictObject({
    version: z.literal(FORMAT_VERSION),
    resources: z.strictObject(Object.fromEntries(documents)),
  })
  .meta({ id: 'Configuration', description: 'The configuration of a workspace as code: all but tasks' })

const example = {
  version: FORMAT_VERSION,
  resources: Object.fromEntries(
    TRANSFERRED.map((name) => [name, [{ _id: 1, ...definitions[name].example }]]),
  ),
}

const count = z.number().int()
const plan = z
  .object({
    dryRun: z.boolean(),
    summary: z.object({ create: count, update: count, unchanged: count }),
    plan: z.array(
      z.object({
        resource: z.enum(RESOURCES),
        _id: safeInteger,
        action: z.enum(['create', 'update', 'unchanged']),
        changes: z.array(z.string()).describe('Where it changes, as JSON Pointers'),
      }),
    ),
  })
  .meta({ id: 'ImportPlan', description: 'What an import does, or would do' })

export const transferOperations: readonly DescribedOperation[] = [
  {
    method: 'GET',
    path: '/rest/export',
    id: 'exportConfiguration',
    tag: 'configuration',
    summary: 'Export the configuration',
    description: 'As far as the caller may read it, in the form of an import.',
    parameters: [queryFlag('secrets', 'Shows the secrets that the caller may write; else `••••`')],
    response: { schema: configuration, example },
    errors: ['validation_failed'],
  },
  {
    method: 'POST',
    path: '/rest/import',
    id: 'importConfiguration',
    tag: 'configuration',
    summary: 'Import a configuration',
    description: 'Each document under its own id; others stay. With a fault anywhere nothing is applied.',
    parameters: [queryFlag('dryRun', 'Only tells what it would do')],
    body: { schema: configuration, example },
    response: {
      schema: plan,
      example: {
        dryRun: true,
        summary: { create: 0, update: 1, unchanged: 0 },
        plan: [{ resource: 'steps', _id: 1, action: 'update', changes: ['/next'] }],
      },
    },
  },
]
