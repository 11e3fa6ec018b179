import { type ErrorCode, errors, problemType } from '@parley/shared/errors'
import { type JsonSchema, jsonSchemaOf } from '@parley/shared/openapi/operation'
import { z } from 'zod'

const fieldError = z.looseObject({
  path: z.string().describe('A JSON Pointer into the body, or the name of a parameter'),
  code: z.string(),
  message: z.string(),
})

/** Every error as callers get it (RFC 9457). */
export const problemSchema = z
  .looseObject({
    type: z.string().describe('Where the gateway explains the code: `/docs/errors/` and the code'),
    title: z.string(),
    status: z.number().int(),
    detail: z.string().optional(),
    instance: z.string().describe('The path that was asked for'),
    code: z.enum(Object.keys(errors) as [ErrorCode, ...ErrorCode[]]).describe('Never changes; decide by it'),
    requestId: z.string(),
    errors: z
      .array(fieldError)
      .max(100)
      .optional()
      .describe('What is wrong with the request, each error with its place; long texts are cut'),
    errorsTotal: z.number().int().optional().describe('How many errors there are, where not all are listed'),
  })
  .describe('An error as RFC 9457 has it')

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

/** Returns the problem that a caller would get for an error at a path. */
export function problemExample(code: ErrorCode, instance: string): z.input<typeof problemSchema> {
  const { status, title } = errors[code]
  return {
    type: problemType(code),
    title,
    status,
    instance,
    code,
    requestId: '1dbd2714-f645-43f5-8c44-7acf7b239106',
    ...(code === 'validation_failed'
      ? { errors: [{ path: '/name', code: 'invalid_type', message: 'expected string, received number' }] }
      : {}),
  }
}
