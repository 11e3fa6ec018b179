import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { LRUCache } from 'lru-cache'

const MAX_KNOWN = 5_000

/** Tells the workspace whether an action's server gives its tools: why not, or undefined where it does. */
export type ReportServer = (
  /** `key` is the version of the action: another server may give them. */
  action: { workspace: number; action: number; key: string },
  failure: string | undefined,
  /** Somebody asked for it; else a failure is told with the second in a row. */
  options?: { isAsked: boolean },
) => void

/**
 * Marks the action in configuration, which `GET /rest/check` shows, once for what stays the same. While configuration is
 * unavailable nothing is marked; the next listing reports again.
 */
export function createReportServer({
  configuration,
  log,
}: {
  configuration: Pick<InternalClient, 'post'>
  log: Pick<Log, 'warn'>
}): ReportServer {
  const known = new LRUCache<string, 'working' | 'suspect' | 'failing'>({ max: MAX_KNOWN })
  return ({ workspace, action, key }, failure, { isAsked } = { isAsked: false }) => {
    const before = known.get(key)
    const state = stateOf(failure, isAsked || before === 'suspect' || before === 'failing')
    if (state === before) return
    known.set(key, state)
    if (state === 'suspect') return
    const mark = failure === undefined ? { state } : { state, reason: failure }
    configuration
      .post(`/internal/workspaces/${workspace}/actions/${action}/server`, mark)
      .catch((error: Error) => {
        known.delete(key)
        log.warn({ workspace, action, reason: error.message }, 'server of an action not marked yet')
      })
  }
}

function stateOf(failure: string | undefined, isCertain: boolean): 'working' | 'suspect' | 'failing' {
  if (failure === undefined) return 'working'
  return isCertain ? 'failing' : 'suspect'
}
