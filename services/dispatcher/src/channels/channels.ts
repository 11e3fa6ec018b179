import { channelFor, type Replica } from '@parley/shared/config-replica/replica'
import type { ConfigurationDocument } from '@parley/shared/config-replica/replica-store'
import { defined } from '@parley/shared/defined'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { WHATSAPP_API_URL } from '@parley/shared/provider-addresses'
import { openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { z } from 'zod'
import { type BoundOrigins, reasonToWithhold } from './http/bound-credentials.ts'

const channelSchema = z.looseObject({
  _id: z.number(),
  extId: z.string(),
  hook: z.enum(['rpc', 'whatsapp']),
  callback: z.enum(['rpc', 'whatsapp']),
  handlerUrl: z.string(),
  config: jsonObject,
  origins: z.array(z.string()).optional(),
})

/** A channel as the dispatcher uses it, its secrets opened. */
export type Channel = Pick<
  z.output<typeof channelSchema>,
  '_id' | 'hook' | 'callback' | 'handlerUrl' | 'config'
> & {
  workspace: number
  /** Why its access token is left out of `config`: it was stored for another `apiUrl`. */
  tokenWithheld?: string
  /** What messages name it by; a trial is of no channel. */
  extId?: string
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
      const { _id, hook, callback, handlerUrl, config, origins } = opened
      const channel = { _id, hook, callback, handlerUrl, workspace, extId, ...boundConfig(config, origins) }
      chosen.set(documents, channel)
      return channel
    },
  }
}

/** Without the access token where that was stored for another origin: nothing that works with it can send it then. */
function boundConfig(config: JsonObject, origins: BoundOrigins): Pick<Channel, 'config' | 'tokenWithheld'> {
  const tokenWithheld = reasonToWithhold(
    'config.accessToken',
    origins,
    String(config.apiUrl ?? WHATSAPP_API_URL),
  )
  if (tokenWithheld === undefined) return { config }
  const { accessToken: _withheld, ...others } = config
  return { config: others, ...defined({ tokenWithheld }) }
}
