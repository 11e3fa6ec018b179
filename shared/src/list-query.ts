import type { Request } from 'express'
import { z } from 'zod'
import { pointerSegment } from './json-object.ts'
import { type FieldError, Problem } from './problem.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 200
const INTEGER = /^(0|-?[1-9]\d{0,15})$/

/** How many items a page of a list has: 1 to 200, and 50 when it is left out. */
export const pageLimit = z
  .number()
  .int()
  .min(1)
  .max(MAX_LIMIT)
  .default(DEFAULT_LIMIT)
  .describe('How many at a time')

/** A filter on a field that holds integers. */
export const integerFilter = z.number().int().optional()

/** A parameter that is `true` or `false`, and false when it is left out. */
export const queryFlag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')

export interface Sort {
  field: string
  descending: boolean
}

/** The sort of a list: one of `fields`, the first one when it is left out; with `-` the last item comes first. */
export function sortBy(fields: readonly [string, ...string[]]) {
  return z
    .enum(fields.flatMap((field) => [field, `-${field}`]))
    .default(fields[0])
    .transform((text): Sort => {
      const descending = text.startsWith('-')
      return { field: descending ? text.slice(1) : text, descending }
    })
}

/** The opaque text that a caller sends back to get the items after `position`. */
export function encodeCursor(position: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

const NEXT = 'The `next` of the page before'

/** A cursor that {@link encodeCursor} made of a position that `shape` takes. */
export function cursorOf<S extends z.ZodType>(shape: S) {
  return z
    .string()
    .transform((text, context): z.output<S> => {
      try {
        return shape.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
      } catch {
        return refuseCursor(context)
      }
    })
    .describe(NEXT)
}

/** The cursor of a list that is sorted by an integer id: the last one of the page before. */
export const idCursor = z
  .union([z.number().int().nonnegative(), z.string()], { error: 'is not a cursor of this list' })
  .transform((given, context) => {
    const id = /^\d{1,16}$/.test(String(given)) ? Number(given) : Number.NaN
    return Number.isSafeInteger(id) ? id : refuseCursor(context)
  })
  .describe(NEXT)

function refuseCursor(context: z.core.$RefinementCtx): never {
  const params = { code: 'invalid_cursor' }
  context.addIssue({ code: 'custom', message: 'is not a cursor of this list', params })
  return z.NEVER
}

/**
 * The query parameters of a request as `query` describes them, each at most once; integers are taken in their plain
 * form only. Throws `validation_failed` with an error for each parameter that is unknown, repeated or wrong.
 */
export function readQuery<S extends z.ZodObject>(
  query: S,
  { query: given }: Pick<Request, 'query'>,
): z.output<S> {
  const names = Object.keys(given)
  const unknown = names.filter((name) => !Object.hasOwn(query.shape, name))
  const repeated = names.filter((name) => !unknown.includes(name) && typeof given[name] !== 'string')
  const result = query.safeParse(withIntegers(query, given))
  const wrong = (result.error?.issues ?? []).filter(({ path }) => !repeated.includes(String(path[0])))
  const errors = [
    ...unknown.map((name) => fieldErrorOf(name, 'unknown_parameter', 'is not a parameter here')),
    ...repeated.map((name) => fieldErrorOf(name, 'repeated', 'is given more than once')),
    ...wrong.map((issue) => fieldErrorOf(String(issue.path[0]), codeOf(issue), issue.message)),
  ]
  if (errors.length > 0 || !result.success) throw new Problem('validation_failed', { errors })
  return result.data
}

function withIntegers({ shape }: z.ZodObject, given: Request['query']): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => {
      const isPlain = typeof text === 'string' && INTEGER.test(text)
      return [name, isPlain && takesNumber(shape[name]) ? Number(text) : text]
    }),
  )
}

function takesNumber(schema: z.core.$ZodType | undefined): boolean {
  const isOuter = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
  return isOuter ? takesNumber(schema.def.innerType) : schema instanceof z.ZodNumber
}

function codeOf(issue: z.core.$ZodIssue): string {
  const isCursor = issue.code === 'custom' && issue.params?.code === 'invalid_cursor'
  return isCursor ? 'invalid_cursor' : 'invalid_parameter'
}

/** A parameter that is refused for what the rest of the request says, or for what is stored. */
export function parameterError(name: string, message: string, code = 'invalid_parameter'): Problem {
  return new Problem('validation_failed', { errors: [fieldErrorOf(name, code, message)] })
}

function fieldErrorOf(name: string, code: string, message: string): FieldError {
  return { path: `/${pointerSegment(name)}`, code, message }
}

/** The page of what was found by asking for one item more than `limit`; `last` is its last item where more follow. */
export function splitPage<T>(found: readonly T[], limit: number): { page: T[]; last: T | undefined } {
  return { page: found.slice(0, limit), last: found.length > limit ? found[limit - 1] : undefined }
}
