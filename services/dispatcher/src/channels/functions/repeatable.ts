import type { Replica } from '@parley/shared/config-replica/replica'
import { jsonObject } from '@parley/shared/json-object'
import { effectUnknown, type Outcome } from '../../message/outcome.ts'

/** Twice is as once (RFC 9110, 9.2.2). */
const IDEMPOTENT_METHODS = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])
const REQUEST_TIMEOUT = 408
/** Codes of attempts that had no effect: nothing has left, or the other side has not begun. */
const NOT_DONE = new Set(['not_reached', 'http_425', 'http_429'])

/** Whether a request of this method may be made again when it may have been done. */
export const isIdempotent = (method: string): boolean => IDEMPOTENT_METHODS.has(method.toUpperCase())

/** Whether an answer of this status says nothing of whether it was done: a proxy may have given up waiting. */
export const leavesOpen = (status: number): boolean => status >= 500 || status === REQUEST_TIMEOUT

/** The outcome of a call of a function: what may have been done and may not be done twice is not tried again. */
export function effectOf(outcome: Outcome, { isRepeatable }: { isRepeatable: boolean }): Outcome {
  if (isRepeatable || outcome.kind === 'accepted' || outcome.kind === 'permanent') return outcome
  if (NOT_DONE.has(outcome.code)) return outcome
  return effectUnknown({ reason: outcome.reason, hasResponse: outcome.kind === 'retryable' })
}

/** Whether an action's own configs say that calling it twice does no more than calling it once. Rejects with `unavailable`. */
export type IsIdempotentAction = (action: { workspace: number; _id: number }) => Promise<boolean>

export function createIsIdempotentAction(replica: Pick<Replica, 'find'>): IsIdempotentAction {
  return async ({ workspace, _id }) => {
    const owned = { resource: 'configs', workspace, owner: _id, ownerType: 'action' } as const
    return saysIdempotent((await replica.find(owned)).map(({ value }) => value))
  }
}

/** Whether one of the values of an action's configs has `idempotent: true`. */
export function saysIdempotent(values: Iterable<unknown>): boolean {
  for (const value of values) if (jsonObject.safeParse(value).data?.idempotent === true) return true
  return false
}
