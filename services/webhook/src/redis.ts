import type { Log } from '@parley/shared/log'
import { Redis } from 'ioredis'

const COMMAND_MS = 400
const CONNECT_MS = 1_000

/** Connects in the background; commands fail at once while it is away, and after 0.4 s when it does not answer. */
export function connectRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    commandTimeout: COMMAND_MS,
    connectTimeout: CONNECT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(100 * attempt, 2_000),
  })
  redis.on('error', (error: Error) => log.warn({ reason: error.message }, 'redis error'))
  return redis
}
