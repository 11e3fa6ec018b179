import type { Collections } from '../store/collections.ts'

const QUERY_MS = 5_000

/** A thread by its channel's external id and its own. */
interface Named {
  workspace: number
  channel: string
  thread: string
}

/**
 * Whether a thread is the first of its name, as far as messages are stored: a task that no channel has used yet is that
 * one's, and not of a channel whose thread took the name later. Rejects with `unavailable`.
 */
export type IsFirstOfName = (named: Named) => Promise<boolean>

export function createIsFirstOfName({ messages }: Pick<Collections, 'messages'>): IsFirstOfName {
  return async ({ workspace, channel, thread }) => {
    const [first] = await messages
      .find({ workspace, thread }, { projection: { channel: 1 }, maxTimeMS: QUERY_MS })
      .sort({ receivedAt: 1, _id: 1 })
      .limit(1)
      .toArray()
    return first === undefined || first.channel === channel
  }
}
