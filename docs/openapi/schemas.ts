import { type JsonSchema, jsonSchemaOf } from '@parley/shared/openapi/operation'
import type { z } from 'zod'

/** Schemas that were given an id, collected for `components/schemas`. */
export interface Schemas {
  /** The schema as it stands in the document: a reference where it has an id. */
  of(schema: z.ZodType): JsonSchema
  components(): Record<string, JsonSchema>
}

export function createSchemas(): Schemas {
  const components = new Map<string, JsonSchema>()
  return {
    of: (schema) => {
      const { $defs, ...json } = pointedToComponents(jsonSchemaOf(schema)) as JsonSchema
      for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, JsonSchema>)) {
        const { id: _id, ...described } = definition
        const known = components.get(name)
        if (known !== undefined && JSON.stringify(known) !== JSON.stringify(described)) {
          throw new Error(`two schemas are called ${name}`)
        }
        components.set(name, described)
      }
      return json
    },
    components: () => Object.fromEntries([...components].toSorted(([a], [b]) => a.localeCompare(b))),
  }
}

function pointedToComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointedToComponents)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? inner.replace('#/$defs/', '#/components/schemas/')
        : pointedToComponents(inner),
    ]),
  )
}
