import { Redis } from 'ioredis'
import type { Log } from './log.ts'

const ANSWER_MS = 1_000
const RETRY_STEP_MS = 100
const MAX_RETRY_MS = 2_000

/**
 * Connects to Redis in the background and again after every loss, at most 2 s apart. Commands fail at once
 * while it is away, and after 1 s when it does not answer. What is sent in one tick goes out together.
 */
export function connectRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    commandTimeout: ANSWER_MS,
    connectTimeout: ANSWER_MS,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(RETRY_STEP_MS * attempt, MAX_RETRY_MS),
  })
  let lost = false
  redis.on('ready', () => {
    lost = false
  })
  redis.on('error', (error: Error) => {
    if (!lost) log.warn({ reason: error.message }, 'redis lost')
    lost = true
  })
  return redis
}
