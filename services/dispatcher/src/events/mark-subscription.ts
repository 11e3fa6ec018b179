import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import type { Subscription } from './subscriptions.ts'

/** What a subscription is marked with in configuration. */
export interface Mark {
  state: 'working' | 'failing' | 'disabled' | 'full' | 'not_full'
  [said: string]: string
}

/** Marks a subscription in configuration; false while that is unavailable. */
export type MarkSubscription = (
  subscription: Pick<Subscription, 'workspace' | '_id'>,
  mark: Mark,
) => Promise<boolean>

const GOOD: readonly Mark['state'][] = ['working', 'not_full']

export function createMarkSubscription({
  configuration,
  log,
}: {
  configuration: Pick<InternalClient, 'post'>
  log: Log
}): MarkSubscription {
  return async ({ workspace, _id }, mark) => {
    const named = { workspace, subscription: _id, state: mark.state }
    try {
      await configuration.post(`/internal/workspaces/${workspace}/subscriptions/${_id}/mark`, mark)
      if (!GOOD.includes(mark.state)) log.warn(named, 'subscription marked')
      return true
    } catch (error) {
      log.warn({ ...named, reason: (error as Error).message }, 'subscription not marked yet')
      return false
    }
  }
}
