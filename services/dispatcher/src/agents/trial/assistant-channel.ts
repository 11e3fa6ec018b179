import type { TurnAgent } from '@parley/shared/agents'
import { usualProvider } from '@parley/shared/providers/registry'
import type { Channel } from '../../channels/channels.ts'

/** A channel that is not configured, for an assistant that works without one: it formats for the usual provider, and sets nothing. */
export function assistantChannel(options: {
  workspace: number
  assistantId: number
  type: TurnAgent
}): Channel {
  const { workspace, assistantId, type } = options
  const { name } = usualProvider()
  return {
    _id: 0,
    workspace,
    hook: name,
    callback: name,
    handlerUrl: `native:agents/${type}`,
    config: { assistantId },
  }
}
