import type { EventCollections } from '../store/event-collections.ts'
import type { Posted } from './post-event.ts'
import type { Receiver } from './receiver.ts'
import type { Mark, MarkSubscription, Subscription } from './subscriptions.ts'

/** A subscription to which nothing was delivered for so long is turned off. */
export const DISABLED_AFTER_MS = 5 * 24 * 60 * 60 * 1_000

/** Notes what an attempt says of a receiver, as of the time of the attempt. */
export type MarkReceiver = (
  receiver: Receiver,
  subscription: Subscription,
  after: { posted: Posted; isGivenUp: boolean },
) => Promise<void>

/**
 * Marks a subscription in configuration: as failing when a delivery to it is given up, as working when one arrives again,
 * and turned off when its receiver is gone, or nothing has arrived for five days. While configuration is unavailable, the next attempt does it.
 */
export function createMarkReceiver(options: {
  markSubscription: MarkSubscription
  subscribers: EventCollections['subscribers']
}): MarkReceiver {
  const { markSubscription, subscribers } = options
  const send = async (receiver: Receiver, subscription: Subscription, mark: Mark) => {
    if (receiver.marked === mark.state) return
    const before = receiver.marked
    receiver.marked = mark.state
    if (!(await markSubscription(subscription, mark))) receiver.marked = before
  }
  return async (receiver, subscription, { posted, isGivenUp }) => {
    const _id = receiver.key
    const { at } = posted.attempt
    if (posted.attempt.outcome === 'accepted') {
      if (receiver.failingSince !== undefined)
        await subscribers.updateOne({ _id }, { $unset: { failingSince: '' } })
      receiver.failingSince = undefined
      const isMarked = subscription.isMarked || receiver.marked === 'failing'
      if (isMarked) await send(receiver, subscription, { state: 'working' })
      return
    }
    if (receiver.failingSince === undefined) {
      receiver.failingSince = at.getTime()
      await subscribers.updateOne({ _id }, { $set: { failingSince: at } }, { upsert: true })
    }
    const { reason, isGone } = posted
    if (isGone)
      return send(receiver, subscription, {
        state: 'disabled',
        at: at.toISOString(),
        reason: `${reason} It is gone, and wants nothing more.`,
      })
    // Failures before it was turned on again do not count.
    if (at.getTime() - Math.max(receiver.failingSince, subscription.activeSince) >= DISABLED_AFTER_MS)
      return send(receiver, subscription, {
        state: 'disabled',
        at: at.toISOString(),
        reason: `Nothing arrived for five days. ${reason}`,
      })
    if (isGivenUp)
      await send(receiver, subscription, {
        state: 'failing',
        since: new Date(receiver.failingSince).toISOString(),
        reason,
      })
  }
}
