import { channelFor, type Replica } from '@parley/shared/config-replica/replica'
import type { ConfigurationDocument } from '@parley/shared/config-replica/replica-store'
import { jsonObject } from '@parley/shared/json-object'
import { isSealed, type SecretBox } from '@parley/shared/sealed-value'
import { z } from 'zod'

/** What the webhook service uses of a channel. */
export const channelFields = z.looseObject({
  _id: z.number().int(),
  name: z.string(),
  extId: z.string(),
  hook: z.enum(['rpc', 'whatsapp']),
  config: jsonObject,
})

/** A channel as this service knows it, its secrets sealed. */
export type Channel = Pick<z.output<typeof channelFields>, '_id' | 'name' | 'extId' | 'hook' | 'config'> & {
  workspace: number
}

export interface Channels {
  /**
   * The channel for an external id: the one whose hook is WhatsApp, then the lowest id; undefined when there is
   * none. Rejects with `unavailable` when configuration is unavailable and there is no replica.
   */
  find(workspace: number, extId: string): Promise<Channel | undefined>
  /** What is known of it without waiting, null for none; undefined what is not known and looked up for the next time. */
  known(workspace: number, extId: string): Channel | null | undefined
}

/** Channels from the replicas of configuration. */
export function createChannels(replica: Pick<Replica, 'find' | 'known'>): Channels {
  const chosen = new WeakMap<ConfigurationDocument[], Channel>()
  const choose = (documents: ConfigurationDocument[], workspace: number, extId: string) => {
    const known = chosen.get(documents)
    if (known !== undefined) return known
    const found = channelFor(documents, extId)
    if (found === undefined) return undefined
    const channel = { ...channelFields.parse(found), workspace }
    chosen.set(documents, channel)
    return channel
  }
  return {
    find: async (workspace, extId) =>
      choose(await replica.find({ resource: 'channels', workspace, extId }), workspace, extId),
    known(workspace, extId) {
      const documents = replica.known({ resource: 'channels', workspace, extId })
      return documents && (choose(documents, workspace, extId) ?? null)
    },
  }
}

/** The text that a channel's configuration has under `key`, opened where it is sealed; undefined without one. */
export function configText(
  { config, workspace }: Channel,
  key: 'verifyToken' | 'appSecret',
  box: Pick<SecretBox, 'open'>,
): string | undefined {
  const value = Object.hasOwn(config, key) ? config[key] : undefined
  const text = typeof value === 'string' && isSealed(value) ? box.open(value, workspace) : value
  return typeof text === 'string' && text !== '' ? text : undefined
}
