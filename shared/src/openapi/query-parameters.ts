import type { z } from 'zod'
import type { Parameter } from './operation.ts'

/** The query parameters that a schema takes, each with what is said about it. */
export function queryParameters<S extends z.ZodObject>(
  query: S,
  descriptions: Record<keyof S['shape'] & string, string>,
): Parameter[] {
  return Object.entries<string>(descriptions).map(([name, description]) => ({
    in: 'query',
    name,
    description,
    schema: query.shape[name] as z.ZodType,
  }))
}
