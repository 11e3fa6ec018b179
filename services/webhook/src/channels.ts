import { byRank, channelFor, type Replica } from '@parley/shared/config-replica/replica'
import type { ConfigurationDocument } from '@parley/shared/config-replica/replica-store'
import { jsonObject } from '@parley/shared/json-object'
import type { Provider } from '@parley/shared/providers/provider'
import type { Settings } from '@parley/shared/providers/setting'
import { settingsFor } from '@parley/shared/providers/settings'
import { isSealed, type SecretBox } from '@parley/shared/sealed-value'
import { z } from 'zod'

/** Fields of a channel that the webhook service uses. */
export const channelFields = z.looseObject({
  _id: z.number().int(),
  name: z.string(),
  extId: z.string(),
  hook: z.string(),
  config: jsonObject,
})

/** A channel as this service knows it, its secrets sealed. */
export type Channel = Pick<z.output<typeof channelFields>, '_id' | 'name' | 'extId' | 'hook' | 'config'> & {
  workspace: number
}

export interface Channels {
  /**
   * The channel for an external id: the one whose hook is the provider, then one to which any provider sends, then the lowest id; undefined
   * when there is none. Rejects with `unavailable` when configuration is unavailable and there is no replica.
   */
  find(workspace: number, extId: string, provider?: string): Promise<Channel | undefined>
  /** The channels that updates of the provider name so, in the order in which they come into question. */
  ofReceiver(workspace: number, provider: string, receiver: string): Promise<Channel[]>
  /** The channel as far as it is known without waiting, null for none; undefined what is not known and looked up for the next time. */
  known(workspace: number, extId: string): Channel | null | undefined
}

/** Channels from the replicas of configuration. */
export function createChannels(replica: Pick<Replica, 'find' | 'known'>): Channels {
  const read = new WeakMap<ConfigurationDocument, Channel>()
  const channelOf = (workspace: number, found: ConfigurationDocument) => {
    const known = read.get(found)
    if (known !== undefined) return known
    const channel = { ...channelFields.parse(found), workspace }
    read.set(found, channel)
    return channel
  }
  const choose = (
    documents: ConfigurationDocument[],
    workspace: number,
    extId: string,
    provider?: string,
  ) => {
    const found = channelFor(documents, extId, provider)
    return found && channelOf(workspace, found)
  }
  return {
    find: async (workspace, extId, provider) =>
      choose(await replica.find({ resource: 'channels', workspace, extId }), workspace, extId, provider),
    async ofReceiver(workspace, provider, receiver) {
      const documents = await replica.find({ resource: 'channels', workspace, provider, receiver })
      return byRank(documents, provider).map((found) => channelOf(workspace, found))
    },
    known(workspace, extId) {
      const documents = replica.known({ resource: 'channels', workspace, extId })
      return documents && (choose(documents, workspace, extId) ?? null)
    },
  }
}

/** The settings that a channel's provider needs to receive, opened where they are sealed. */
export function receiveSettings(
  { config, workspace }: Channel,
  provider: Provider,
  box: Pick<SecretBox, 'open'>,
): Settings {
  const open = (text: string) => {
    const opened = isSealed(text) ? box.open(text, workspace) : text
    return typeof opened === 'string' ? opened : undefined
  }
  return settingsFor('receive', provider, { config, open })
}
