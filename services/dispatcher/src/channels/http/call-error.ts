/** How a call failed: nothing left (`not_sent`), the target is private (`refused_target`), no answer came, or it was too large. */
type CallFailure = 'not_sent' | 'refused_target' | 'no_answer' | 'answer_too_large'

export class CallError extends Error {
  readonly failure: CallFailure
  /** The answer's status, where one came. */
  readonly status: number | undefined

  constructor(failure: CallFailure, cause: unknown, status?: number) {
    super(failure, { cause })
    this.failure = failure
    this.status = status
  }
}
