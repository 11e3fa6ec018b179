import { Problem } from '@parley/shared/problem'
import { LRUCache } from 'lru-cache'

/** So many requests in each window; the windows are the same for all instances of the gateway. */
export interface Policy {
  name: string
  quota: number
  windowSeconds: number
}

/** A key's use of one window. */
export interface Use {
  key: string
  window: number
  /** The count of all instances, from Redis; with Redis unavailable that of this instance alone. */
  settled: number
  /** Counted since. */
  pending: number
}

export interface RateCounter {
  policy: Policy
  /** Counts one request. Throws `rate_limited` when the quota of the window is used up. */
  take(key: string): void
  /** The uses that wait to be settled, 50,000 at most and of one window; each is returned once. */
  drain(): Use[]
  /** Calls `notify` whenever something begins to wait to be settled. */
  whenWaiting(notify: () => void): void
}

const MAX_KEYS = 50_000

/**
 * Counts in memory, the last 50,000 keys of the window that runs; `onRefused` is called for each request over the quota.
 * A key is stored as it is: whoever counts bounds its length.
 */
export function createRateCounter({
  onRefused,
  ...policy
}: Policy & { onRefused?: () => void }): RateCounter {
  const waiting = new Set<Use>()
  // A use that is not counted with any more is not settled either: there may be nobody to settle it.
  const uses = new LRUCache<string, Use>({ max: MAX_KEYS, dispose: (use) => void waiting.delete(use) })
  const windowMs = policy.windowSeconds * 1000
  let counted = 0
  let notify = () => {}
  return {
    policy,
    take(key) {
      const now = Date.now()
      const window = Math.floor(now / windowMs)
      if (window !== counted) uses.clear()
      counted = window
      let use = uses.get(key)
      if (use === undefined) {
        use = { key, window, settled: 0, pending: 0 }
        uses.set(key, use)
      }
      if (use.settled + use.pending >= policy.quota) {
        onRefused?.()
        throw limited(policy, Math.ceil(((window + 1) * windowMs - now) / 1000))
      }
      use.pending++
      if (waiting.size === 0) notify()
      waiting.add(use)
    },
    drain() {
      const drained = [...waiting]
      waiting.clear()
      return drained
    },
    whenWaiting(call) {
      notify = call
    },
  }
}

function limited({ name, quota, windowSeconds }: Policy, seconds: number): Problem {
  return new Problem('rate_limited', {
    retryAfter: seconds,
    headers: {
      'ratelimit-policy': `"${name}";q=${quota};w=${windowSeconds}`,
      ratelimit: `"${name}";r=0;t=${seconds}`,
    },
  })
}
