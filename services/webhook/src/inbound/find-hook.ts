import { MAX_ID_CHARACTERS } from '@parley/shared/message'
import type { Inbound } from '@parley/shared/providers/inbound'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed } from '@parley/shared/providers/registry'
import { withTimeout } from '@parley/shared/with-timeout'
import type { Channel, Channels } from '../channels.ts'
import type { Workspaces } from '../workspaces.ts'

const FIND_MS = 2_500
const NOBODY = 0

/** A channel's webhook: who sends to it, and for which channel. */
export interface Hook {
  provider: Provider & { inbound: Inbound }
  channel: Channel
}

/** The names in the path of a webhook. */
interface HookAddress {
  provider: string
  slug: string
  channelExtId: string
}

export type FindHook = (address: HookAddress) => Promise<Hook | undefined>

/**
 * The webhook that `/{provider}/{slug}/{channelExtId}` addresses; undefined when there is none, for an unknown workspace
 * after the same look-up. Rejects with `unavailable` when it is not known within 2.5 s.
 */
export function createFindHook(options: {
  workspaces: Workspaces
  channels: Pick<Channels, 'find'>
}): FindHook {
  const { workspaces, channels } = options
  return async ({ provider: name, slug, channelExtId }) => {
    const provider = providerNamed(name)
    if (provider?.inbound === undefined) return undefined
    // No channel has it, and configuration could not be asked for it.
    if (channelExtId.length > MAX_ID_CHARACTERS) return undefined
    const found = (async () => {
      const workspace = await workspaces.find(slug)
      return channels.find(workspace ?? NOBODY, channelExtId, provider.name)
    })()
    const channel = await withTimeout(FIND_MS, found)
    if (channel === undefined || isOfAnother(channel, name)) return undefined
    return { provider: { ...provider, inbound: provider.inbound }, channel }
  }
}

/** A channel without a provider of its own takes what is rightly signed, whoever it is from. */
export function isOfAnother({ hook }: Channel, name: unknown): boolean {
  return hook !== name && providerNamed(hook)?.inbound !== undefined
}
