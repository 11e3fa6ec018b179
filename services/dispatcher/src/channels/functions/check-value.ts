import { type Schema, Validator } from '@cfworker/json-schema'
import type { JsonObject } from '@parley/shared/json-object'
import { withLinearPatterns } from './linear-patterns.ts'
import { ArgsError, SpecError } from './spec-error.ts'

/** Throws {@link ArgsError} where a value does not fit; `at` is where it lies in the arguments. */
export type CheckValue = (value: unknown, at: string) => void

/** A check by a schema of JSON Schema 2020-12, which is interpreted: no code is made of it. */
export function checkBy(schema: JsonObject): CheckValue {
  const validator = new Validator(schema as Schema, '2020-12')
  return (value, at) => {
    const error = errorsOf(validator, value).at(-1)
    if (error === undefined) return
    const inner = error.instanceLocation.slice(1)
    // The name comes from the schema: it is required, and so not in the value.
    const missing = error.keyword === 'required' ? /"([^"]*)"/.exec(error.error)?.[1] : undefined
    if (missing !== undefined) throw new ArgsError(`${at}${inner}/${missing}`, 'is missing')
    const rule = error.keyword === 'false' ? 'is not allowed' : `breaks "${error.keyword}" of the schema`
    throw new ArgsError(`${at}${inner}`, rule)
  }
}

/** The errors, the innermost last. A schema may turn out to be wrong only where it is applied. */
function errorsOf(validator: Validator, value: unknown) {
  try {
    return withLinearPatterns(() => validator.validate(value).errors)
  } catch (error) {
    if (error instanceof SpecError) throw error
    throw new SpecError('has a schema that can not be applied')
  }
}
