import type { Request, RequestHandler } from 'express'
import type { Redis } from 'ioredis'
import { createThrottle, type Throttle } from './throttle.ts'

/** What is slowed down, and by what it is counted. */
export interface Throttles {
  /** Logins, by account; unknown ones count as well. */
  account: Throttle
  /** Logins, by address. */
  address: Throttle
  /** Registrations and refreshes, by address. */
  arrivals: Throttle
}

// Behind one address there may be an office, whose sessions are refreshed every 15 minutes.
const LOGINS_PER_ADDRESS = 10
const ARRIVALS_PER_ADDRESS = 40

/** `free` tries in five minutes are free for one account, and many times as many for one address. */
export function createThrottles(options: { free: number; redis: Redis | undefined }): Throttles {
  const { free, redis } = options
  return {
    account: createThrottle({ name: 'account', free, redis }),
    address: createThrottle({ name: 'address', free: free * LOGINS_PER_ADDRESS, redis }),
    arrivals: createThrottle({ name: 'arrivals', free: free * ARRIVALS_PER_ADDRESS, redis }),
  }
}

/** Where a request came from, as the gateway says. */
export function addressOf(req: Request): string {
  return String(req.headers['x-forwarded-for'] ?? req.socket.remoteAddress)
}

/** Slows a request down by its address, before anything else is done for it. */
export function slowDownByAddress(throttle: Throttle): RequestHandler {
  return async (req, _res, next) => {
    await throttle.slowDown(addressOf(req))
    next()
  }
}
