import type { Replica } from '@parley/shared/config-replica/replica'
import { jsonObject } from '@parley/shared/json-object'

/** How long a call of an action may take, in milliseconds, unless a config of the action says otherwise. */
export const CALL_MS = 15_000
const MIN_SECONDS = 1
const MAX_SECONDS = 120

/** How the calls of an action are made, as its own configs say. */
interface CallSettings {
  /** Calling it twice does no more than calling it once. */
  isIdempotent: boolean
  /** The longest one attempt may take. */
  timeoutMs: number
}

/** The settings among the values of an action's configs: `idempotent: true`, and `timeoutSeconds`, 1 to 120. */
export function callSettingsIn(values: Iterable<unknown>): CallSettings {
  const settings = { isIdempotent: false, timeoutMs: CALL_MS }
  for (const value of values) {
    const { idempotent, timeoutSeconds } = jsonObject.safeParse(value).data ?? {}
    if (idempotent === true) settings.isIdempotent = true
    if (typeof timeoutSeconds === 'number' && Number.isFinite(timeoutSeconds))
      settings.timeoutMs = Math.min(Math.max(timeoutSeconds, MIN_SECONDS), MAX_SECONDS) * 1_000
  }
  return settings
}

/** Reads the settings of an action. Rejects with `unavailable`. */
export type CallSettingsOf = (action: { workspace: number; _id: number }) => Promise<CallSettings>

export function createCallSettingsOf(replica: Pick<Replica, 'find'>): CallSettingsOf {
  return async ({ workspace, _id }) => {
    const owned = { resource: 'configs', workspace, owner: _id, ownerType: 'action' } as const
    return callSettingsIn((await replica.find(owned)).map(({ value }) => value))
  }
}
