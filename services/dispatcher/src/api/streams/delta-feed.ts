import { pause } from '@parley/shared/every'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { Redis } from 'ioredis'
import { type Delta, delta, deltaChannel } from '../../agents/deltas.ts'

type Listener = (delta: Delta) => void

/** What models say in the threads of a workspace, as any instance hears it. */
export interface DeltaFeed {
  /** Resolves once the listener hears it, or Redis does not answer; returns what ends that. */
  follow(workspace: number, listener: Listener): Promise<() => void>
  close(): void
}

const CONNECT_MS = 500

/** Subscribes at Redis to the workspaces that have a listener; the connection is made for the first one. */
export function createDeltaFeed(options: { connect(): Redis; database: string }): DeltaFeed {
  const { connect, database } = options
  const listeners = new Map<string, Set<Listener>>()
  let redis: Redis | undefined
  const open = () => {
    const made = connect()
    made.on('message', (channel: string, text: string) => {
      const heard = delta.safeParse(jsonOrUndefined(text))
      if (heard.success) for (const listener of listeners.get(channel) ?? []) listener(heard.data)
    })
    // Also after a loss, and for those who came while it was unavailable.
    made.on('ready', () => {
      if (listeners.size > 0) void made.subscribe(...listeners.keys()).catch(() => undefined)
    })
    return made
  }
  const connected = async (): Promise<Redis> => {
    redis ??= open()
    const { promise, resolve } = Promise.withResolvers<void>()
    if (redis.status !== 'ready') {
      redis.once('ready', resolve)
      await Promise.race([promise, pause(CONNECT_MS)])
    }
    return redis
  }
  return {
    async follow(workspace, listener) {
      const channel = deltaChannel(database, workspace)
      const own = listeners.get(channel) ?? new Set()
      listeners.set(channel, own.add(listener))
      if (own.size === 1) await (await connected()).subscribe(channel).catch(() => undefined)
      return () => {
        own.delete(listener)
        if (own.size > 0 || listeners.get(channel) !== own) return
        listeners.delete(channel)
        void redis?.unsubscribe(channel).catch(() => undefined)
      }
    },
    close: () => redis?.disconnect(),
  }
}
