import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import type { ReportTokens } from './access-tokens.ts'

/**
 * Marks the credentials of an action in configuration, which `GET /rest/check` shows. While configuration is unavailable
 * nothing is marked; whoever asks next reports again.
 */
export function createReportTokens({
  configuration,
  log,
}: {
  configuration: Pick<InternalClient, 'post'>
  log: Log
}): ReportTokens {
  return ({ workspace, _id }, refusal) => {
    const mark = refusal === undefined ? { state: 'working' } : { state: 'refused', reason: refusal }
    configuration
      .post(`/internal/workspaces/${workspace}/actions/${_id}/credentials`, mark)
      .catch((error: Error) =>
        log.warn({ workspace, action: _id, reason: error.message }, 'credentials not marked yet'),
      )
  }
}
