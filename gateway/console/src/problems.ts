import { ParleyError } from '@parley/client/parley-error'
import { t } from './language.ts'

/** A problem of a field; `path` is a JSON Pointer. */
interface FieldProblem {
  path: string
  message: string
}

/** Something that was typed and can't be sent. */
export class InputError extends Error {
  readonly fields: readonly FieldProblem[]

  constructor(message: string, fields: readonly FieldProblem[]) {
    super(message)
    this.name = 'InputError'
    this.fields = fields
  }
}

/** Returns the problems by field, where the error has them. */
export function fieldsOf(error: Error | undefined): readonly FieldProblem[] {
  if (error instanceof InputError) return error.fields
  return (error instanceof ParleyError && error.problem?.errors) || []
}

/** True if the document was changed by somebody else between the read and the write. */
export const isChangedSince = (error: Error | undefined): boolean =>
  error instanceof ParleyError && error.status === 412

/** True if the document does not exist any more. */
export const isGone = (error: Error | undefined): boolean =>
  error instanceof ParleyError && error.status === 404

/** An error in words. */
export function messageOf(error: Error): string {
  if (error instanceof InputError) return error.message
  if (!(error instanceof ParleyError)) return t('The gateway could not be reached. It is tried again.')
  const { problem, status } = error
  if (isChangedSince(error)) return t('This was changed since it was loaded here, so it was not saved.')
  return problem?.detail ?? problem?.title ?? t('The gateway responded with {status}.', { status })
}
