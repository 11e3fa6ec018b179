import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { Problem } from '@parley/shared/problem'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { ChannelCopy } from '../database.ts'
import { within } from '../within.ts'
import { type Channel, channelsIn, versionedChannel } from './channel-copy.ts'
import type { ChannelStore } from './channel-store.ts'

const FRESH_MS = 1_000
const READ_AGAIN_MS = 60_000
const LOOKUP_MS = 2_000
const MAX_REMEMBERED = 10_000
const MAX_LOOKUPS = 256
const BACKGROUND_LOOKUPS = 4

const answerSchema = z.object({ data: z.array(versionedChannel) })

export interface Channels {
  /**
   * The channel for an external id: the one whose hook is WhatsApp, then the lowest id; undefined when there is
   * none. Rejects with `unavailable` when configuration is away and no copy is held.
   */
  find(workspace: number, extId: string): Promise<Channel | undefined>
  /** What is known of it without waiting; what is not gets looked up for the next time. */
  known(workspace: number, extId: string): Channel | undefined
  /** Makes the next {@link find} in this workspace read the copies again. */
  changed(workspace: number): void
}

interface Remembered {
  channel: Channel | undefined
  at: number
}

/**
 * Channels from the service's own copies. On a miss configuration is asked; events keep the copies fresh, and
 * one over a minute old is read again in the background. A copy serves while configuration is away.
 */
export function createChannels(options: {
  store: ChannelStore
  configuration: Pick<InternalClient, 'get'>
  log: Log
}): Channels {
  const { store, configuration, log } = options
  const remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED })
  const changedAt = new LRUCache<number, number>({ max: MAX_REMEMBERED })
  const lookups = new Map<string, Promise<Channel | undefined>>()
  const rereads = new Set<string>()

  const ask = async (workspace: number, extId: string) => {
    const readAt = new Date()
    const path = `/internal/workspaces/${workspace}/channels?extId=${encodeURIComponent(extId)}`
    const { data } = answerSchema.parse(await within(LOOKUP_MS, configuration.get(path)))
    // Not waited for: what was answered is as good as the copy.
    store.keepAll({ workspace, extId, channels: data, readAt }).catch((error: Error) => {
      log.warn({ workspace, reason: error.message }, 'channel copies not written')
    })
    const copies = data.map((channel) => ({ workspace, document: JSON.stringify(channel) }) as ChannelCopy)
    return channelsIn(copies, extId)[0]
  }
  const isFresh = (found: Remembered | undefined, workspace: number): found is Remembered =>
    found !== undefined && found.at > Math.max(changedAt.get(workspace) ?? 0, performance.now() - FRESH_MS)
  const readAgain = (key: string, workspace: number, extId: string) => {
    if (rereads.has(key) || rereads.size >= BACKGROUND_LOOKUPS) return
    rereads.add(key)
    const at = performance.now()
    ask(workspace, extId)
      .then((channel) => remembered.set(key, { channel, at }))
      .catch((error: Error) => log.debug({ workspace, reason: error.message }, 'channel not read again'))
      .finally(() => rereads.delete(key))
  }
  const lookUp = async (key: string, workspace: number, extId: string) => {
    const copies = await store.byExtId(workspace, extId).catch(() => undefined)
    const held = copies === undefined ? remembered.peek(key)?.channel : channelsIn(copies, extId)[0]
    const readAt = Math.max(0, ...(copies ?? []).map((copy) => copy.readAt?.getTime() ?? 0))
    if (held !== undefined && (readAt > 0 || copies === undefined)) {
      if (readAt < Date.now() - READ_AGAIN_MS) readAgain(key, workspace, extId)
      return held
    }
    try {
      return await ask(workspace, extId)
    } catch (error) {
      if (held === undefined) throw error
      log.warn({ workspace, reason: (error as Error).message }, 'configuration is away; the copy serves')
      return held
    }
  }
  const find: Channels['find'] = async (workspace, extId) => {
    const key = `${workspace}/${extId}`
    const found = remembered.get(key)
    if (isFresh(found, workspace)) return found.channel
    const underWay = lookups.get(key)
    if (underWay !== undefined) return underWay
    if (lookups.size >= MAX_LOOKUPS) throw new Problem('unavailable', { detail: 'Too many look-ups.' })
    const at = performance.now()
    const lookup = lookUp(key, workspace, extId)
      .then((channel) => {
        remembered.set(key, { channel, at })
        return channel
      })
      .finally(() => lookups.delete(key))
    lookups.set(key, lookup)
    return lookup
  }
  return {
    find,
    known(workspace, extId) {
      const found = remembered.get(`${workspace}/${extId}`)
      if (!isFresh(found, workspace) && lookups.size < BACKGROUND_LOOKUPS) {
        void find(workspace, extId).catch(() => undefined)
      }
      return found?.channel
    },
    changed: (workspace) => void changedAt.set(workspace, performance.now()),
  }
}
