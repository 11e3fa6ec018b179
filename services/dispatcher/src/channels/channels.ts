import { channelFor, type Replica } from '@parley/shared/config-replica/replica'
import type { ConfigurationDocument } from '@parley/shared/config-replica/replica-store'
import { channelDocument } from '@parley/shared/documents/channel'
import { boundSecretOf } from '@parley/shared/providers/bound-secret'
import { openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { z } from 'zod'
import { type BoundOrigins, reasonToWithhold } from './http/bound-credentials.ts'

/** With the origins that its secrets were stored for. */
const channelSchema = channelDocument.stored.extend({ origins: z.array(z.string()).optional() })

/** A channel as the dispatcher uses it, its secrets opened. */
export type Channel = Pick<
  z.output<typeof channelSchema>,
  '_id' | 'hook' | 'callback' | 'handlerUrl' | 'config'
> & {
  workspace: number
  /** Why the secret that its provider is called with is left out of `config`: it was stored for another address. */
  secretWithheld?: string
  /** The name of the channel in messages; a trial has no channel. */
  extId?: string
}

export interface Channels {
  /**
   * The channel for messages of `extId`: the one whose `hook` names a provider that sends, then the lowest id; undefined when the
   * workspace has none. What was read before `notBefore` (milliseconds since the epoch) does not do as long as
   * configuration answers. Rejects with `unavailable` when configuration is unavailable and there is no replica.
   */
  find(workspace: number, extId: string, options?: { notBefore?: number }): Promise<Channel | undefined>
}

/** A channel of a document, its secrets opened. */
export type OpenChannel = (document: ConfigurationDocument, workspace: number) => Channel

export const createOpenChannel =
  (secrets: Pick<SecretBox, 'open'>): OpenChannel =>
  (document, workspace) => {
    const opened = openSecrets(channelSchema.parse(document), secrets, workspace)
    const { _id, hook, callback, handlerUrl, origins } = opened
    return { _id, hook, callback, handlerUrl, workspace, ...boundConfig(opened, origins) }
  }

/** Channels from the replicas of configuration. Opening the secrets of a document is done once. */
export function createChannels(options: {
  replica: Pick<Replica, 'find'>
  openChannel: OpenChannel
}): Channels {
  const { replica, openChannel } = options
  const chosen = new WeakMap<ConfigurationDocument[], Channel>()
  return {
    async find(workspace, extId, needs) {
      const documents = await replica.find({ resource: 'channels', workspace, extId }, needs)
      const known = chosen.get(documents)
      if (known !== undefined) return known
      const found = channelFor(documents, extId)
      if (found === undefined) return undefined
      const channel = { ...openChannel(found, workspace), extId }
      chosen.set(documents, channel)
      return channel
    },
  }
}

/** Without the secret where that was stored for another origin: nothing that works with it can send it then. */
function boundConfig(
  channel: Pick<Channel, 'hook' | 'callback' | 'config'>,
  origins: BoundOrigins,
): Pick<Channel, 'config' | 'secretWithheld'> {
  const { config } = channel
  const secret = boundSecretOf(channel)
  const secretWithheld = secret && reasonToWithhold(`config.${secret.key}`, origins, secret.url)
  if (secretWithheld === undefined) return { config }
  const { [secret?.key ?? '']: _withheld, ...others } = config
  return { config: others, secretWithheld }
}
