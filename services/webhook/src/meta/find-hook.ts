import { MAX_ID_CHARACTERS } from '@parley/shared/message'
import { withTimeout } from '@parley/shared/with-timeout'
import type { Request } from 'express'
import type { Channel, Channels } from '../channels.ts'
import type { Workspaces } from '../workspaces.ts'

const FIND_MS = 2_500
const NOBODY = 0

export type FindHook = (req: Request) => Promise<Channel | undefined>

/**
 * The channel that `/{slug}/{channelExtId}` addresses; undefined when there is none, for an unknown workspace
 * after the same look-up. Rejects with `unavailable` when it is not known within 2.5 s.
 */
export function createFindHook(options: {
  workspaces: Workspaces
  channels: Pick<Channels, 'find'>
}): FindHook {
  const { workspaces, channels } = options
  return async (req) => {
    const { slug, channelExtId } = req.params
    // No channel has it, and configuration could not be asked for it.
    if (String(channelExtId).length > MAX_ID_CHARACTERS) return undefined
    const found = (async () => {
      const workspace = await workspaces.find(String(slug))
      return channels.find(workspace ?? NOBODY, String(channelExtId))
    })()
    return withTimeout(FIND_MS, found)
  }
}
