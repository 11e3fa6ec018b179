import { z } from 'zod'
import type { ResourceDefinition } from './definition.ts'
import { text, url } from './fields.ts'

export const action: ResourceDefinition = {
  name: 'actions',
  schema: z.strictObject({ name: text, description: text, specType: text, moduleUrl: url, spec: text }),
  indexed: { name: 'text', specType: 'text' },
  references: [],
}
