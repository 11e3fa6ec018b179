import type { InternalClient } from '@parley/shared/internal-client'
import { jsonObject } from '@parley/shared/json-object'
import type { Log } from '@parley/shared/log'
import { openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'

const channelSchema = z.object({
  _id: z.number(),
  hook: z.enum(['rpc', 'whatsapp']),
  callback: z.enum(['rpc', 'whatsapp']),
  handlerUrl: z.string(),
  config: jsonObject,
})
const answerSchema = z.object({ data: z.array(channelSchema) })

/** A channel as the dispatcher uses it. */
export type Channel = z.output<typeof channelSchema> & { workspace: number }

export interface Channels {
  /**
   * The channel for messages of `extId`: the one whose `hook` fits, then the lowest id; undefined when the
   * workspace has none. Rejects with `unavailable` when configuration is away and no copy is held.
   */
  find(workspace: number, extId: string): Promise<Channel | undefined>
}

const FRESH_MS = 1_000
const MAX_COPIES = 10_000
const HOOK = 'whatsapp'

interface Copy {
  channel: Channel
  readAt: number
}

/**
 * Copies of the channels in use: asked from configuration on a miss and when a copy is over a second old; the
 * copy serves while configuration is away.
 */
export function createChannels(options: {
  configuration: Pick<InternalClient, 'get'>
  secrets: Pick<SecretBox, 'open'>
  log: Log
}): Channels {
  const { configuration, secrets, log } = options
  const copies = new LRUCache<string, Copy>({ max: MAX_COPIES })
  const reads = new Map<string, Promise<Channel | undefined>>()
  let away = false
  const opened = (channel: Channel): Channel => ({
    ...channel,
    config: openSecrets(channel.config, secrets, channel.workspace),
  })
  const read = async (key: string, workspace: number, extId: string) => {
    const answer = await configuration.get(
      `/internal/workspaces/${workspace}/channels?extId=${encodeURIComponent(extId)}`,
    )
    const channel = choose(answerSchema.parse(answer).data)
    if (channel === undefined) copies.delete(key)
    else copies.set(key, { channel: opened({ ...channel, workspace }), readAt: performance.now() })
    return copies.peek(key)?.channel
  }
  return {
    async find(workspace, extId) {
      const key = `${workspace}/${extId}`
      const copy = copies.get(key)
      if (copy !== undefined && performance.now() - copy.readAt < FRESH_MS) return copy.channel
      const reading = reads.get(key) ?? read(key, workspace, extId).finally(() => reads.delete(key))
      reads.set(key, reading)
      try {
        const channel = await reading
        if (away) log.info('configuration is back')
        away = false
        return channel
      } catch (error) {
        if (!away) log.warn({ reason: messageOf(error) }, 'configuration is away; going on with the copies')
        away = true
        if (copy === undefined) throw error
        return copy.channel
      }
    },
  }
}

function choose(channels: Array<z.output<typeof channelSchema>>) {
  return channels.find(({ hook }) => hook === HOOK) ?? channels[0]
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}
