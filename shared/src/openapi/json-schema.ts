import { z } from 'zod'

export type JsonSchema = Record<string, unknown>

/** A zod schema as JSON Schema 2020-12: what is sent, before defaults and transforms. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // The only custom schemas are free-form objects.
      if (zodSchema._zod.def.type === 'custom') {
        jsonSchema.type = 'object'
        jsonSchema.additionalProperties = true
      }
      // The format says it, and is easier to read.
      if (jsonSchema.format === 'date-time' || jsonSchema.format === 'email') delete jsonSchema.pattern
      if (jsonSchema.format === 'email') jsonSchema.format = 'idn-email'
    },
  })
  return json
}
