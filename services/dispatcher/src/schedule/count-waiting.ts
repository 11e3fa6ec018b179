import type { WaitingCounts } from '../message/waiting-for.ts'
import type { Collections } from '../store/collections.ts'
import type { Threads } from './threads.ts'

/** Beyond so many open messages of a partition the count says this many. */
const MOST = 10_000

/**
 * What the open messages of a partition wait for: those that are first in their threads by memory, the rest by a
 * bounded count over the index. Costs the same with any backlog. Without an answer of the database it is only the
 * first ones.
 */
export async function countWaiting(options: {
  messages: Collections['messages']
  partition: number
  threads: Pick<Threads, 'waiting' | 'count'>
}): Promise<WaitingCounts> {
  const { messages, partition, threads } = options
  const open = await messages
    .countDocuments({ partition, open: true }, { limit: MOST, maxTimeMS: 2_000 })
    .catch(() => 0)
  const counts = threads.waiting()
  const behind = open - threads.count()
  if (behind <= 0) return counts
  const oldestAt = Math.min(...[...counts.values()].map((one) => one.oldestAt), Date.now())
  return counts.set('thread', { messages: behind, oldestAt })
}
