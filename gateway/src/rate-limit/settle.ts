import { setTimeout as delay } from 'node:timers/promises'
import type { RateCounter, Use } from './rate-counter.ts'

/** The counter in Redis that settling needs. */
export interface SharedCount {
  /** Adds `count` to what all copies have used of a window, and answers with the sum. */
  add(options: { name: string; count: number; ttlMs: number }): Promise<number>
}

const INTERVAL_MS = 100

/**
 * Tells Redis every 100 ms what was counted here and learns what the other copies counted. No request waits
 * for it; with Redis away each copy goes on with its own count.
 */
export function settleRegularly(
  counters: readonly RateCounter[],
  shared: SharedCount,
): { close(): Promise<void> } {
  const closing = new AbortController()
  const loop = async () => {
    while (!closing.signal.aborted) {
      await Promise.all(
        counters.flatMap((counter) => counter.drain().map((use) => settle(counter, use, shared))),
      )
      await delay(INTERVAL_MS, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }
  const running = loop()
  return {
    close: async () => {
      closing.abort()
      await running
    },
  }
}

async function settle({ policy }: RateCounter, use: Use, shared: SharedCount): Promise<void> {
  const count = use.pending
  use.pending = 0
  use.settled += count
  const name = `rate:${policy.name}:${use.window}:${use.key}`
  try {
    const sum = await shared.add({ name, count, ttlMs: 2 * policy.windowSeconds * 1000 })
    use.settled = Math.max(use.settled, sum)
  } catch {
    // Counted here already; the connection logs that it is lost.
  }
}
