import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { addressKey } from '@parley/shared/addresses'
import { Problem } from '@parley/shared/problem'
import type { Request, RequestHandler } from 'express'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'

/** The throttles, each with the key by which it counts. */
export interface Throttles {
  /** Logins, by account; unknown ones count as well. */
  account: Throttle
  /** Logins, by address. */
  address: Throttle
  /** Registrations, refreshes and logouts, by address. */
  requests: Throttle
  waitingRoom: WaitingRoom
}

// Behind one address there may be an office, whose sessions are refreshed every 15 minutes.
const LOGINS_PER_ADDRESS = 10
const REQUESTS_PER_ADDRESS = 40

/** `free` tries in five minutes are free for one account, and many times as many for one address. */
export function createThrottles(options: { free: number; redis: Redis | undefined }): Throttles {
  const { free, redis } = options
  return {
    account: createThrottle({ name: 'account', free, redis }),
    address: createThrottle({ name: 'address', free: free * LOGINS_PER_ADDRESS, redis }),
    requests: createThrottle({ name: 'arrivals', free: free * REQUESTS_PER_ADDRESS, redis }),
    waitingRoom: createWaitingRoom(),
  }
}

/** Slows down a try at the password of an account, by the account and by the address that it comes from. */
export async function slowDownGuessing(throttles: Throttles, req: Request, account: string): Promise<void> {
  const address = addressOf(req)
  const delays = await Promise.all([throttles.account.count(account), throttles.address.count(address)])
  await throttles.waitingRoom.wait(address, Math.max(...delays))
}

/** Slows a request down by its address, before anything else is done for it. */
export function slowDownByAddress({ requests, waitingRoom }: Throttles): RequestHandler {
  return async (req, _res, next) => {
    const address = addressOf(req)
    await waitingRoom.wait(address, await requests.count(address))
    next()
  }
}

/** By what the address of a request is counted, as the gateway reports it. */
export function addressOf(req: Request): string {
  return addressKey(String(req.headers['x-forwarded-for'] ?? req.socket.remoteAddress))
}

/** Counts tries, and says how long the next one has to wait. */
interface Throttle {
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

/** How many requests of one address wait at once. */
export const MAX_WAITING_OF_ADDRESS = 20
/** From so many waiting requests on, an address has one of them at most. */
export const CROWDED = 2_000
const MAX_WAITING = 4_000
const RETRY_AFTER_SECONDS = 4

/** Where slowed-down requests wait: whoever makes many of them takes the places of nobody else. */
export interface WaitingRoom {
  /** Waits for `milliseconds`. Throws `rate_limited` when too many requests of the address wait, or of all. */
  wait(address: string, milliseconds: number): Promise<void>
}

export function createWaitingRoom(): WaitingRoom {
  const waiting = new Map<string, number>()
  let all = 0
  return {
    async wait(address, milliseconds) {
      if (milliseconds === 0) return
      const own = waiting.get(address) ?? 0
      const allowed = all < CROWDED ? MAX_WAITING_OF_ADDRESS : 1
      if (own >= allowed || all >= MAX_WAITING)
        throw new Problem('rate_limited', { retryAfter: RETRY_AFTER_SECONDS })
      waiting.set(address, own + 1)
      all++
      try {
        await delay(milliseconds)
      } finally {
        all--
        const left = (waiting.get(address) ?? 1) - 1
        if (left === 0) waiting.delete(address)
        else waiting.set(address, left)
      }
    },
  }
}
