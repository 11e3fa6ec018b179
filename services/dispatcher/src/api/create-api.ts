import { createIdempotency } from '@parley/shared/idempotency'
import type { InternalClient } from '@parley/shared/internal-client'
import { connectRedis } from '@parley/shared/redis'
import type { Redis } from 'ioredis'
import type { Config } from '../config.ts'
import { createIsFirstOfName } from '../conversations/first-of-name.ts'
import type { Outbound } from '../deliver/outbound.ts'
import type { Collections } from '../store/collections.ts'
import { createCommitter } from '../store/commit.ts'
import type { EventCollections } from '../store/event-collections.ts'
import { createMediaSlots } from './media/media-routes.ts'
import { createEventStreams } from './streams/event-streams.ts'
import { createShowPresence } from './streams/presence.ts'
import { eraseAudio, eraseDeliveries, eraseNotes, erasePerson, eraseTasks } from './threads/erasers.ts'
import { threadSummary } from './threads/view.ts'

type Streaming = Parameters<typeof createEventStreams>[0]

/** Creates the routes from their own dependencies and those that they share with the rest. */
export function createApi(
  options: Pick<Streaming, 'db' | 'registry' | 'log'> & {
    config: Pick<Config, 'REDIS_URL' | 'MONGO_DATABASE'>
    instance: string
    collections: Collections & EventCollections
    redis: Redis
    webhook: Pick<InternalClient, 'getBytes' | 'post'>
    configuration: InternalClient
    outbound: Pick<
      Outbound,
      'channels' | 'agents' | 'media' | 'connecting' | 'discoverTools' | 'checkAccount'
    >
  },
) {
  const { config, instance, collections, redis, webhook, configuration, outbound, log } = options
  const { channels, agents, media, connecting, discoverTools, checkAccount } = outbound
  return {
    ...connecting,
    ...{ channels, agents, discoverTools, checkAccount, http: media, deliveries: collections.deliveries },
    showTyping: agents.showTyping,
    showPresence: createShowPresence({ redis, database: config.MONGO_DATABASE }),
    committer: createCommitter(collections.messages, `cancel:${instance}`),
    streams: createEventStreams({
      ...options,
      connectRedis: () => connectRedis(config.REDIS_URL, log),
      database: config.MONGO_DATABASE,
      view: threadSummary,
    }),
    mediaSlots: createMediaSlots(),
    isFirstOfName: createIsFirstOfName(collections),
    idempotency: createIdempotency({ redis, prefix: 'reply', log }),
    erasers: [
      eraseAudio(webhook),
      eraseTasks(configuration),
      erasePerson(webhook, collections.threads),
      eraseNotes(collections.notes),
      eraseDeliveries(collections),
    ],
  }
}
