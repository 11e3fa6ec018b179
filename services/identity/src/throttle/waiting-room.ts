import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '@parley/shared/problem'

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
