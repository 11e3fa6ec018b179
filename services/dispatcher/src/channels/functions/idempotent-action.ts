import type { Replica } from '@parley/shared/config-replica/replica'
import { jsonObject } from '@parley/shared/json-object'

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
