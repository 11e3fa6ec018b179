import type { EventCollections } from '../store/event-collections.ts'
import type { MarkSubscription } from './mark-subscription.ts'
import type { Receiver } from './receiver.ts'
import type { Subscription } from './subscriptions.ts'

/** A subscription for which so many wait gets no more until some have left. */
const MAX_WAITING = 1_000_000
const COUNT_MS = 60_000

export interface MarkFullOptions {
  collections: Pick<EventCollections, 'deliveries' | 'subscribers'>
  markSubscription: MarkSubscription
  /** Milliseconds since the epoch. */
  now: () => number
  /** How many events wait for a subscription at most. */
  maxWaiting?: number
  /** How often they are counted, in milliseconds. */
  countMs?: number
}

/**
 * Notes that too many events wait for a subscription, so that no more are made, or that there is room again, and marks it
 * in configuration; at most once a minute. While configuration is unavailable, the next count does it.
 */
export async function markFull(
  options: MarkFullOptions,
  receiver: Receiver,
  subscription: Subscription,
): Promise<void> {
  const { collections, markSubscription, now, maxWaiting = MAX_WAITING, countMs = COUNT_MS } = options
  if (performance.now() - receiver.countedAt < countMs) return
  receiver.countedAt = performance.now()
  const { key, shard } = subscription
  const waiting = { shard, subscription: key, fresh: true as const }
  const isFull = (await collections.deliveries.countDocuments(waiting, { limit: maxWaiting })) === maxWaiting
  const change = isFull ? { $set: { full: true as const } } : { $unset: { full: '' as const } }
  await collections.subscribers.updateOne({ _id: key }, change, { upsert: isFull })
  if (isFull === subscription.isMarkedFull) return
  const since = new Date(now()).toISOString()
  const reason = `${maxWaiting.toLocaleString('en')} events wait for it: it gets no more until some have left.`
  await markSubscription(subscription, isFull ? { state: 'full', since, reason } : { state: 'not_full' })
}
