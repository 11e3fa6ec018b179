import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { LRUCache } from 'lru-cache'
import { shortened } from '../../functions/model-schema.ts'
import type { AgentAction } from '../agent.ts'

const MAX_KNOWN = 5_000
const MAX_REASONS = 50
const MAX_CHARACTERS = 500

/** Tells the workspace what of an action's spec or server is no tool, and why; nothing where all is. */
export type ReportMissing = (
  action: Pick<AgentAction, '_id' | 'version' | 'missing'> & { workspace: number },
  reasons: readonly string[],
) => void

/**
 * Marks the action in configuration, which `GET /rest/check` shows, where it is not marked so already. While configuration is
 * unavailable nothing is marked; whoever needs the tools next reports again.
 */
export function createReportMissing({
  configuration,
  log,
}: {
  configuration: Pick<InternalClient, 'post'>
  log: Pick<Log, 'warn'>
}): ReportMissing {
  // A mark arrives with the action's next version.
  const pending = new LRUCache<string, string>({ max: MAX_KNOWN })
  return ({ workspace, _id, version, missing: marked = [] }, reasons) => {
    const key = `${workspace}/${_id}/${version}`
    const missing = reasons.slice(0, MAX_REASONS).map((reason) => shortened(reason, MAX_CHARACTERS))
    const now = JSON.stringify(missing)
    if ((pending.get(key) ?? JSON.stringify(marked)) === now) return
    pending.set(key, now)
    configuration
      .post(`/internal/workspaces/${workspace}/actions/${_id}/tools`, { missing })
      .catch((error: Error) => {
        pending.delete(key)
        log.warn(
          { workspace, action: _id, reason: error.message },
          'missing tools of an action not marked yet',
        )
      })
  }
}
