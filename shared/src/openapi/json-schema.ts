import { z } from 'zod'

export type JsonSchema = Record<string, unknown>

/** A zod schema as JSON Schema 2020-12: what is sent, before defaults and transforms. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // The only custom schemas are free-form objects.
      if (zodSchema._zod.def.type === 'custom') jsonSchema.type = 'object'
    },
  })
  return json
}
