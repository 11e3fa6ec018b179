import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'

/** Counts tries, and says how long the next one has to wait. */
export interface Throttle {
  /** Counts a try. Resolves with its delay in milliseconds, the longer the more often `key` was tried lately. */
  count(key: string): Promise<number>
  /** Forgets what was tried before: the caller has shown who they are. */
  forgive(key: string): Promise<void>
}

const WINDOW_SECONDS = 300
const FIRST_DELAY_MS = 250
const MAX_DELAY_MS = 4_000

/** How long the n-th try within five minutes waits, in milliseconds: 0, then 250 doubling up to 4,000. */
export function delayOf(tries: number, free: number): number {
  return tries <= free ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (tries - free - 1), MAX_DELAY_MS)
}

/**
 * Slows guessing down without ever locking anyone out. Tries are counted in Redis for all instances, and in
 * memory while it is unavailable or not configured.
 */
export function createThrottle(options: { name: string; free: number; redis: Redis | undefined }): Throttle {
  const { name, free, redis } = options
  // Only counted here, so the limit itself is out of reach.
  const counting = {
    keyPrefix: `throttle:${name}`,
    points: Number.MAX_SAFE_INTEGER,
    duration: WINDOW_SECONDS,
  }
  const memory = new RateLimiterMemory(counting)
  const limiter =
    redis === undefined
      ? memory
      : new RateLimiterRedis({
          ...counting,
          storeClient: redis,
          insuranceLimiter: memory,
          rejectIfRedisNotReady: true,
        })
  return {
    count: async (key) => delayOf((await limiter.consume(hashed(key))).consumedPoints, free),
    forgive: async (key) => {
      await limiter.delete(hashed(key))
    },
  }
}

/** Keys may be long, and names of people are of no use in Redis. */
function hashed(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}
