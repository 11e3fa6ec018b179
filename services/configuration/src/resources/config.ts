import { jsonObject } from '@parley/shared/json-object'
import { z } from 'zod'
import { RESOURCES, type Reference, type ResourceDefinition } from './definition.ts'
import { id, text } from './fields.ts'

/** An owner's type is free text; where it names a resource, in the singular or the plural, it is a reference. */
const owners: Reference[] = RESOURCES.map((to) => ({
  field: 'owner',
  to,
  when: { field: 'ownerType', values: [to, to.replace(/s$/, '')] },
}))

export const config: ResourceDefinition = {
  name: 'configs',
  keyed: true,
  schema: z.strictObject({ name: text, value: jsonObject, owner: id, ownerType: text }),
  indexed: { name: 'text', owner: 'integer', ownerType: 'text' },
  references: owners,
}
