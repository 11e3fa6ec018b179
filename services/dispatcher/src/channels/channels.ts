import { jsonObject } from '@parley/shared/json-object'
import { openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { z } from 'zod'
import type { ConfigurationDocument } from '../replica/configuration-document.ts'
import type { Replica } from '../replica/replica.ts'

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

const HOOK = 'whatsapp'

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
      const found = choose(documents, extId)
      if (found === undefined) return undefined
      const { _id, hook, callback, handlerUrl } = found
      const config = openSecrets(found.config, secrets, workspace)
      const channel = { _id, hook, callback, handlerUrl, config, workspace }
      chosen.set(documents, channel)
      return channel
    },
  }
}

function choose(documents: ConfigurationDocument[], extId: string) {
  const channels = documents
    .map((document) => channelSchema.parse(document))
    .filter((channel) => channel.extId === extId)
    .sort((one, other) => one._id - other._id)
  return channels.find(({ hook }) => hook === HOOK) ?? channels[0]
}
