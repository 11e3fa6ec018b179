import { addressKey } from '@parley/shared/address-key'
import type { Request, RequestHandler } from 'express'
import type { Redis } from 'ioredis'
import { createThrottle, type Throttle } from './throttle.ts'
import { createWaitingRoom, type WaitingRoom } from './waiting-room.ts'

/** What is slowed down, and by what it is counted. */
export interface Throttles {
  /** Logins, by account; unknown ones count as well. */
  account: Throttle
  /** Logins, by address. */
  address: Throttle
  /** Registrations and refreshes, by address. */
  arrivals: Throttle
  waitingRoom: WaitingRoom
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
export function slowDownByAddress({ arrivals, waitingRoom }: Throttles): RequestHandler {
  return async (req, _res, next) => {
    const address = addressOf(req)
    await waitingRoom.wait(address, await arrivals.count(address))
    next()
  }
}

/** By what the address of a request is counted, as the gateway tells it. */
function addressOf(req: Request): string {
  return addressKey(String(req.headers['x-forwarded-for'] ?? req.socket.remoteAddress))
}
