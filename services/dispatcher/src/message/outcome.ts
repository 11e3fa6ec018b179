import type { Fault } from './message-record.ts'
import { MAY_HAVE_RUN, type ToolResult } from './turn.ts'

/** The outcome of one attempt at a handler or a send; `error` is the other side's text about it, fit to be shown. */
export type Outcome =
  /** The other side took it; `delivered` when that is all there is to wait for; `result` where a model called a tool. */
  | { kind: 'accepted'; providerId?: string; delivered: boolean; result?: ToolResult }
  /** It did not happen, and may work later; `retryAfterSeconds` is the time that the other side asks for. */
  | {
      kind: 'retryable'
      code: string
      fault: Fault
      reason: string
      error?: string
      retryAfterSeconds?: number
      /** The other side says that the number's rate was it. */
      isTooFast?: true
    }
  /** It did not happen, and trying again would not change that. */
  | {
      kind: 'permanent'
      code: string
      fault: Fault
      reason: string
      error?: string
      /** The person has told the provider that they want no marketing of the business. */
      isOptOut?: true
    }
  /** It left, and no answer came: it may or may not have happened. */
  | {
      kind: 'uncertain'
      code: string
      fault: Fault
      reason: string
      error?: string
      /** It is not made again by itself, since it might have its effect twice. */
      isFinal?: true
      /** There was an answer, which left it open. */
      hasResponse?: boolean
      /** The result for the model, where one called a tool. */
      result?: ToolResult
    }

/** A claim whose outcome was never written. */
export const INTERRUPTED = {
  kind: 'uncertain',
  code: 'interrupted',
  fault: 'us',
  reason: 'The send was interrupted.',
} as const satisfies Outcome
/** A function that may have been done, and whose effect might be there twice if it were called again. */
export function effectUnknown(options: {
  reason: string
  hasResponse: boolean
}): Outcome & { kind: 'uncertain' } {
  const { reason, hasResponse } = options
  const said = `${MAY_HAVE_RUN} ${reason}`
  return {
    kind: 'uncertain',
    code: 'effect_unknown',
    fault: 'channel',
    reason: said,
    isFinal: true,
    hasResponse,
  }
}
/** The code of an attempt that left and got no answer. */
export const NO_RESPONSE = 'no_answer'
/** As {@link INTERRUPTED}, of a function that is called again, under the same idempotency key only. */
export const INTERRUPTED_KEYED = { ...INTERRUPTED, code: NO_RESPONSE } as const satisfies Outcome
/** As {@link INTERRUPTED}, of a function that is not called again. */
export const INTERRUPTED_FUNCTION = effectUnknown({ reason: INTERRUPTED.reason, hasResponse: false })
const HOUR_MS = 60 * 60 * 1_000

/** Not tried: the provider would refuse it. */
export const outsideServiceWindow = ({ label, ms }: { label: string; ms: number }): Outcome => ({
  kind: 'permanent',
  code: 'outside_service_window',
  fault: 'caller',
  reason: `${label} takes only templates later than ${ms / HOUR_MS} hours after the last message of the person.`,
})
/** Not tried: the person wants no such messages. */
export const OPTED_OUT = {
  kind: 'permanent',
  code: 'opted_out',
  fault: 'recipient',
  reason: 'The person has opted out of such messages.',
} as const satisfies Outcome
/** Something unforeseen: it counts as a try, so that it ends, whatever causes it. */
export const CRASHED = {
  kind: 'retryable',
  code: 'internal_error',
  fault: 'us',
  reason: 'Something went wrong on our side.',
} as const satisfies Outcome
/** The broker has confirmed. */
export const SUBMITTED: Outcome = { kind: 'accepted', delivered: true }
