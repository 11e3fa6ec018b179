import { CONFIGURATION_RESOURCES, type ResourceName } from '@parley/shared/configuration-resources'
import { safeInteger } from '@parley/shared/json-object'
import { z } from 'zod'
import { definitions } from '../resources/all-resources.ts'

/** Exported and imported: all but tasks, which are state. */
export const TRANSFERRED: readonly ResourceName[] = CONFIGURATION_RESOURCES.filter((name) => name !== 'tasks')

/** The version of the export format; a change that old importers would misread gets another number. */
export const FORMAT_VERSION = 1

const key = z.string().nullish().describe('The path id it was created under, where that is no integer')

const documents = TRANSFERRED.map((name) => {
  const { schema, keyed } = definitions[name]
  const own = { _id: safeInteger.nonnegative(), ...(keyed ? { key } : {}) }
  return [name, z.array(z.object({ ...own, ...schema.shape })).optional()] as const
})

/** The schema of an export and an import, as it is described. */
export const configurationSchema = z
  .strictObject({
    version: z.literal(FORMAT_VERSION),
    resources: z.strictObject(Object.fromEntries(documents)),
  })
  .meta({ id: 'Configuration', description: 'The configuration of a workspace as code: all but tasks' })

export const configurationExample = {
  version: FORMAT_VERSION,
  resources: Object.fromEntries(
    TRANSFERRED.map((name) => [name, [{ _id: 1, ...definitions[name].example }]]),
  ),
}
