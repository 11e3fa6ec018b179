import { LRUCache } from 'lru-cache'
import { type Collections, SCHEDULED_INDEX } from './collections.ts'

/** How many messages of a workspace may wait for their time. */
const MAX_SCHEDULED = 10_000
const FOR_MS = 1_000
const MAX_WORKSPACES = 10_000
const QUERY_MS = 5_000

/** Tells whether a workspace has as many messages that wait for their time as it may have: it counts once a second. */
export function createIsScheduleFull(
  messages: Collections['messages'],
): (workspace: number) => Promise<boolean> {
  const counted = new LRUCache<number, boolean>({
    ...{ max: MAX_WORKSPACES, ttl: FOR_MS },
    fetchMethod: async (workspace) => {
      const filter = { workspace, waitingFor: 'schedule' as const }
      const limits = { limit: MAX_SCHEDULED, hint: SCHEDULED_INDEX, maxTimeMS: QUERY_MS }
      return (await messages.countDocuments(filter, limits)) >= MAX_SCHEDULED
    },
  })
  return async (workspace) => (await counted.fetch(workspace)) ?? false
}
