import type { z } from 'zod'
import { pointerSegment } from './json-object.ts'
import { type FieldError, Problem } from './problem.ts'

const MAX_FIELD_ERRORS = 100

/** The field errors of a failed zod parse of `value` with JSON Pointer paths; 100 at most. */
export function fieldErrorsOf(error: z.ZodError, value: unknown): FieldError[] {
  return error.issues
    .flatMap(placed)
    .slice(0, MAX_FIELD_ERRORS)
    .map((issue) => ({
      path: issue.path.map((segment) => `/${pointerSegment(String(segment))}`).join(''),
      code: issue.code,
      message: isMissing(issue, value) ? 'is required' : issue.message,
    }))
}

/** The issue inside of the form that was meant, where something may have several forms. */
function placed(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  const { path } = issue
  if (issue.code !== 'invalid_union') return [issue]
  const meant = formMeant(issue.errors.map((issues) => issues.flatMap(placed)))
  return meant?.map((inner) => ({ ...inner, path: [...path, ...inner.path] })) ?? [issue]
}

/** The one form of which nothing is wrong as a whole, or less of what is inside of it than of the others. */
function formMeant(forms: z.core.$ZodIssue[][]): z.core.$ZodIssue[] | undefined {
  const inside = forms.filter((issues) => issues.every(({ path }) => path.length > 0))
  const [best, next] = inside.toSorted((one, other) => one.length - other.length)
  return best?.length === next?.length ? undefined : best
}

const OF_A_VALUE = ['invalid_type', 'invalid_value', 'invalid_union', 'custom']

/** True when the error is that there is nothing at its place. */
function isMissing({ code, path }: z.core.$ZodIssue, value: unknown): boolean {
  if (path.length === 0 || !OF_A_VALUE.includes(code)) return false
  const at = path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : null,
    value,
  )
  return at === undefined
}

/**
 * Checks `value` against `schema` and returns **the value itself**, not zod's clone: free-form objects retain
 * their key order and keys such as `__proto__`. Throws `validation_failed` with every field error.
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.input<S> {
  // It copies nothing, where parsing does, and only what is wrong is gone through again.
  if (schema.validate(value)) return value as z.input<S>
  const { error } = schema.safeParse(value)
  throw invalid(error, value)
}

/** Parses `value` into what `schema` makes of it (defaults, transforms). Throws `validation_failed`. */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalid(result.error, value)
}

function invalid(error: z.ZodError | undefined, value: unknown): Problem {
  if (error === undefined) return new Problem('validation_failed', { errors: [] })
  return new Problem('validation_failed', {
    errors: fieldErrorsOf(error, value),
    errorsTotal: error.issues.flatMap(placed).length,
  })
}
