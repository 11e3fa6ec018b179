import { type FieldError, Problem } from '@parley/shared/problem'
import type { Request } from 'express'

/** The request's query parameters, each at most once. Throws `validation_failed` naming any not in `known`. */
export function parameters(req: Request, known: readonly string[]): Map<string, string> {
  const errors: FieldError[] = []
  const values = new Map<string, string>()
  for (const [path, value] of Object.entries(req.query)) {
    if (!known.includes(path))
      errors.push({ path, code: 'unknown_parameter', message: 'not a parameter here' })
    else if (typeof value !== 'string')
      errors.push({ path, code: 'repeated', message: 'given more than once' })
    else values.set(path, value)
  }
  if (errors.length > 0) throw new Problem('validation_failed', { errors: errors })
  return values
}

/** A parameter that is `true` or `false`, and false when left out. */
export function flag(values: Map<string, string>, name: string): boolean {
  const value = values.get(name) ?? 'false'
  if (value === 'true' || value === 'false') return value === 'true'
  throw parameterError(name, 'expected true or false')
}

const MAX_LIMIT = 200

/** How many documents a page has: 1 to 200, and `otherwise` when the parameter is left out. */
export function pageLimit(text: string | undefined, { otherwise }: { otherwise: number }): number {
  if (text === undefined) return otherwise
  const limit = Number(text)
  if (/^[1-9]\d{0,2}$/.test(text) && limit <= MAX_LIMIT) return limit
  throw parameterError('limit', `expected an integer from 1 to ${MAX_LIMIT}`)
}

export function parameterError(path: string, message: string): Problem {
  return new Problem('validation_failed', { errors: [{ path, code: 'invalid_parameter', message }] })
}
