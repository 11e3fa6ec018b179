import { LRUCache } from 'lru-cache'

/** What a workspace may use at once, in milliseconds, and the part of the time that it gets back. */
const BUDGET_MS = 1_000
const REFILL = 0.1
const MAX_WORKSPACES = 10_000

/** The time that each workspace has used lately (a token bucket). */
interface TimeBudget {
  isSpent(workspace: number): boolean
  spend(workspace: number, milliseconds: number): void
}

/** `now` is monotonic, in milliseconds. */
export function createTimeBudget(now: () => number = () => performance.now()): TimeBudget {
  const used = new LRUCache<number, { ms: number; at: number }>({ max: MAX_WORKSPACES })
  const usedBy = (workspace: number) => {
    const { ms, at } = used.get(workspace) ?? { ms: 0, at: now() }
    return Math.max(0, ms - (now() - at) * REFILL)
  }
  return {
    isSpent: (workspace) => usedBy(workspace) >= BUDGET_MS,
    spend(workspace, milliseconds) {
      used.set(workspace, { ms: usedBy(workspace) + milliseconds, at: now() })
    },
  }
}
