import type { z } from 'zod'
import type { ErrorCode } from '../errors.ts'

/** A parameter of a path, a query or a header. */
export interface Parameter {
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
  parameters?: readonly Parameter[]
  body?: Content & { optional?: boolean }
  response: Content & { headers?: readonly ResponseHeader[]; description?: string }
  /** Answers of another status that are no problem, with a body or without. */
  others?: Readonly<Record<number, { description: string; content?: Content }>>
  /** What it may refuse with beyond what every operation may. */
  errors?: readonly ErrorCode[]
}
