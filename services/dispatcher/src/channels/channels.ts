import { channelFor, type Replica } from '@parley/shared/config-replica/replica'
import type { ConfigurationDocument } from '@parley/shared/config-replica/replica-store'
import { jsonObject } from '@parley/shared/json-object'
import { openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { z } from 'zod'

const channelSchema = z.looseObject({
  _id: z.number(),
  extId: z.string(),
  hook: z.enum(['rpc', 'whatsapp']),
  callback: z.enum(['rpc', 'whatsapp']),
  handlerUrl: z.string(),
  config: jsonObject,
})

/** A channel as the dispatcher uses it, its secrets opened. */
export type Channel = Pick<
  z.output<typeof channelSchema>,
  '_id' | 'hook' | 'callback' | 'handlerUrl' | 'config'
> & {
  workspace: number
}

export interface Channels {
  /**
   * The channel for messages of `extId`: the one whose `hook` fits, then the lowest id; undefined when the
   * workspace has none. What was read before `notBefore` (milliseconds since the epoch) does not do as long as
   * configuration answers. Rejects with `unavailable` when configuration is unavailable and there is no replica.
   */
  find(workspace: number, extId: string, options?: { notBefore?: number }): Promise<Channel | undefined>
}

/** Channels from the replicas of configuration. Opening the secrets of a document is done once. */
export function createChannels(options: {
  replica: Pick<Replica, 'find'>
  secrets: Pick<SecretBox, 'open'>
}): Channels {
  const { replica, secrets } = options
  const chosen = new WeakMap<ConfigurationDocument[], Channel>()
  return {
    async find(workspace, extId, needs) {
      const documents = await replica.find({ resource: 'channels', workspace, extId }, needs)
      const known = chosen.get(documents)
      if (known !== undefined) return known
      const found = channelFor(documents, extId)
      if (found === undefined) return undefined
      const opened = openSecrets(channelSchema.parse(found), secrets, workspace)
      const { _id, hook, callback, handlerUrl, config } = opened
      const channel = { _id, hook, callback, handlerUrl, config, workspace }
      chosen.set(documents, channel)
      return channel
    },
  }
}
