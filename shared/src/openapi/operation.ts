import { z } from 'zod'
import type { ErrorCode } from '../errors.ts'

/** A parameter of a path, a query or a header. */
export interface OperationParameter {
  in: 'path' | 'query' | 'header'
  name: string
  description: string
  schema: z.ZodType
  required?: boolean
  example?: unknown
}

/** A body, sent or answered. */
export interface Content {
  schema: z.ZodType
  /** One that the schema takes. For a request it is one that works as it stands. */
  example: unknown
  /** Names the schema, so that other operations refer to it too. */
  name?: string
  /** `application/json` when left out. */
  types?: readonly string[]
}

/** A header of an answer. */
export interface ResponseHeader {
  name: string
  description: string
}

/** One public operation as a service describes it, near the route that does it. */
export interface DescribedOperation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As callers write it, with `{id}` for what varies. */
  path: string
  /** Unique, for generated clients. */
  id: string
  tag: string
  summary: string
  description?: string
  parameters?: readonly OperationParameter[]
  body?: Content & { optional?: boolean }
  response: Content & { headers?: readonly ResponseHeader[]; description?: string }
  /** Answers of another status that are no problem, with a body or without. */
  others?: Readonly<Record<number, { description: string; content?: Content }>>
  /** Codes that it may refuse with beyond those of every operation. */
  errors?: readonly ErrorCode[]
}

/** The query parameters that a schema takes, each with what is said about it. */
export function queryParameters<S extends z.ZodObject>(
  query: S,
  descriptions: Record<keyof S['shape'] & string, string>,
): OperationParameter[] {
  return Object.entries<string>(descriptions).map(([name, description]) => ({
    in: 'query',
    name,
    description,
    schema: query.shape[name] as z.ZodType,
  }))
}

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
