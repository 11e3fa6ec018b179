import { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
import type { Access } from '../permission/decide.ts'

/** A parameter of a path or a header. What the query may have is a schema of the whole of it. */
export interface OperationParameter {
  in: 'path' | 'query' | 'header'
  name: string
  description: string
  schema: z.ZodType
  required?: boolean
  example?: unknown
}

/** A body, sent or answered. */
export interface Content<S extends z.ZodType = z.ZodType> {
  schema: S
  /** One that the schema takes. For a request it is one that works as it stands. */
  example: unknown
  /** `application/json` when left out. */
  types?: readonly string[]
}

/** A body that is sent. */
export interface RequestBody<S extends z.ZodType = z.ZodType> extends Content<S> {
  optional?: boolean
  /** How large it may be, after decompression; left out where the handler reads the bytes itself. */
  maxBytes?: number
  /** How many members, objects and arrays it may have together; 20,000 when left out. */
  maxMembers?: number
}

/** A header of an answer. */
interface ResponseHeader {
  name: string
  description: string
}

/** The response of a success. */
export interface OperationResponse extends Content {
  headers?: readonly ResponseHeader[]
  description?: string
}

/** One public operation of a service, as callers see it. */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As callers write it, with `{id}` for what varies. */
  path: string
  /** Other paths of the same operation. */
  aliases?: readonly string[]
  /**
   * The right that a role has to give on the resource. `nothing`: no token is looked at; `optional`: one that is there; `token`: whoever
   * has one may, whatever their role.
   */
  access: Access | 'nothing' | 'optional' | 'token'
  /** The resource that a role decides about; that of the path when left out. */
  resource?: string
  /** Unique, for generated clients. */
  id: string
  tag: string
  summary: string
  description?: string
  /** Those of path and headers. */
  parameters?: readonly OperationParameter[]
  /** The parameters of the query, each with what is said about it. */
  query?: z.ZodObject
  body?: RequestBody
  response: OperationResponse
  /** Answers of another status that are no problem, with a body or without. */
  others?: Readonly<Record<number, { description: string; content?: Content }>>
  /** Codes that it may refuse with beyond those of every operation, and of every one that takes a query or a body. */
  errors?: readonly ErrorCode[]
}

/** The response of a list: a page of `one`, and an example with one of them. */
export function pageOf(name: string, one: z.ZodType, example: unknown): OperationResponse {
  return {
    schema: z.object({ data: z.array(one), next: z.string().nullable() }).meta({ id: `${name}Page` }),
    example: { data: [example], next: null },
  }
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
