import type { Redis } from 'ioredis'
import type { RateCounter, Use } from './rate-counter.ts'

/** The counter in Redis that settling needs. */
interface SharedCount {
  /** Adds `count` to what all instances have used of a window, and returns the sum. */
  add(options: { name: string; count: number; ttlMs: number }): Promise<number>
}

const INTERVAL_MS = 100
const ADD = `local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
if sum == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return sum`

/**
 * Adds to Redis what was counted here, at most 100 ms later, and reads what the other instances counted. No request waits
 * for it, and nothing runs where nothing is counted; with Redis unavailable each instance goes on with its own count.
 */
export function settleRegularly(
  counters: readonly RateCounter[],
  shared: SharedCount,
): { close(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> = Promise.resolve()
  const settleAll = () =>
    Promise.all(counters.flatMap((counter) => counter.drain().map((use) => settle(counter, use, shared))))
  const settleLater = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      running = running.then(settleAll)
    }, INTERVAL_MS)
  }
  for (const counter of counters) counter.whenWaiting(settleLater)
  return {
    close: async () => {
      clearTimeout(timer)
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

/** Counts in Redis, one command a key, so that in a cluster the keys may lie on different nodes. */
export function createRedisCount(redis: Redis): SharedCount {
  return {
    add: async ({ name, count, ttlMs }) => Number(await redis.eval(ADD, 1, name, count, ttlMs)),
  }
}
