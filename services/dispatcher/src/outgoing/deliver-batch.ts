import type { FairSlots, Release } from '@parley/shared/fair-slots'
import type { Log } from '@parley/shared/log'
import type { CallEnd } from '../channels/endpoints/circuit-breaker.ts'
import { type Delivery, settleDelivery, withDeliveryAttempt } from '../message/delivery.ts'
import type { EventCollections } from '../store/event-collections.ts'
import type { MarkReceiver } from './mark-receiver.ts'
import type { PostEvent, Posted } from './post-event.ts'
import type { Readable } from './readable.ts'
import type { Receiver } from './receiver.ts'
import type { Subscription } from './subscriptions.ts'

/** Identity, or the database, is unavailable. */
const UNAVAILABLE_MS = 1_000
/** Until a subscription whose receiver is gone is turned off; where it was not, its next event says so again. */
const GONE_MS = 60_000
/** The longest that a receiver may ask to be left alone, beside the delivery that it answered so. */
const MAX_PAUSE_MS = 60 * 60_000

export interface DeliverBatchOptions {
  collections: Pick<EventCollections, 'deliveries'>
  readable: Readable
  post: PostEvent
  mark: MarkReceiver
  /** Shared by all shards of an instance, and by all workspaces. */
  slots: Pick<FairSlots, 'take'>
  retentionMs: number
  /** Milliseconds since the epoch. */
  now: () => number
  log: Log
}

/** A delivery that has its slot, and that the circuit breaker of its receiver let pass: both have to be given back. */
export interface Entered {
  delivery: Delivery
  end(end: CallEnd): boolean
  release: Release
}

/** Deliveries to one receiver that leave together. */
interface Batch {
  receiver: Receiver
  subscription: Subscription
  entered: Entered[]
  isLeased(): boolean
  /** Breaks off what is in flight, because its instance closes. */
  signal: AbortSignal
  /** One of them has come to its end. */
  settled(): void
}

/**
 * Posts deliveries and stores what came of each. What is not stored as pending any more, because it was erased, does not
 * leave; neither does what the account of the subscription may not read. Never rejects: what fails here is tried again.
 */
export async function deliverBatch(options: DeliverBatchOptions, batch: Batch): Promise<void> {
  const { log } = options
  let sendable: Sendable
  try {
    sendable = await sendableOf(options, batch)
  } catch (error) {
    log.warn({ reason: (error as Error).message }, 'events wait: what their account may read is not known')
    return putBack(options, batch)
  }
  const { receiver, settled } = batch
  await Promise.all(
    batch.entered.map(async (entered) => {
      const isSettled = await deliverEntered(options, batch, { ...entered, sendable })
      receiver.settled(entered.delivery)
      // Not before it is in flight no more: what is in flight is not among what is read.
      if (!isSettled) receiver.readAgain(options.now())
      entered.release()
      settled()
    }),
  )
}

interface Sendable {
  pending: ReadonlySet<string>
  allowed: ReadonlySet<Delivery>
}

async function sendableOf(
  { collections, readable }: DeliverBatchOptions,
  { subscription, entered }: Batch,
): Promise<Sendable> {
  const batch = entered.map(({ delivery }) => delivery)
  const ids = batch.map(({ _id }) => _id)
  const [found, allowed] = await Promise.all([
    collections.deliveries
      .find({ _id: { $in: ids }, state: 'pending' }, { projection: { _id: 1 } })
      .toArray(),
    readable(subscription, batch),
  ])
  return { pending: new Set(found.map(({ _id }) => _id)), allowed }
}

/** In their order; nothing has left. */
function putBack({ now }: DeliverBatchOptions, { receiver, entered }: Batch): void {
  receiver.pausedUntil = now() + UNAVAILABLE_MS
  for (const { delivery, end, release } of entered.toReversed()) {
    end('unknown')
    receiver.putBack(delivery)
    release()
  }
}

/** False where it is still as it was in the database, and is to be read again from there. */
async function deliverEntered(
  options: DeliverBatchOptions,
  { receiver, subscription, isLeased, signal }: Batch,
  { delivery, end, sendable }: Pick<Entered, 'delivery' | 'end'> & { sendable: Sendable },
): Promise<boolean> {
  const { log, now } = options
  try {
    const mayLeave = isLeased() && !signal.aborted
    if (mayLeave && sendable.pending.has(delivery._id) && sendable.allowed.has(delivery)) {
      await deliverOne(options, { receiver, subscription, signal }, { delivery, end })
      return true
    }
    end('unknown')
    if (mayLeave && sendable.pending.has(delivery._id)) await refuse(options, delivery)
    return mayLeave
  } catch (error) {
    const { message: reason } = error as Error
    log.warn({ reason }, 'outcome of a delivery not stored: it is delivered again')
    receiver.pausedUntil = now() + UNAVAILABLE_MS
    return false
  }
}

async function deliverOne(
  options: DeliverBatchOptions,
  { receiver, subscription, signal }: Pick<Batch, 'receiver' | 'subscription' | 'signal'>,
  { delivery, end }: Pick<Entered, 'delivery' | 'end'>,
): Promise<void> {
  const { post, mark } = options
  const posted = await post(delivery, subscription, signal)
  // It says nothing of the receiver. The delivery is stored as it was, and the next owner of the shard posts it.
  if (signal.aborted && !posted.hasResponse) return void end('unknown')
  end(posted.hasResponse ? 'answered' : 'unanswered')
  const { isGone, retryAfterSeconds = 0 } = posted
  const pauseMs = isGone ? GONE_MS : Math.min(retryAfterSeconds * 1_000, MAX_PAUSE_MS)
  receiver.pausedUntil = Math.max(receiver.pausedUntil, options.now() + pauseMs)
  const isGivenUp = await settle(options, receiver, { delivery, posted })
  await mark(receiver, subscription, { posted, isGivenUp })
}

/** Stores the outcome; whether it is given up. */
async function settle(
  { collections, retentionMs, now }: DeliverBatchOptions,
  receiver: Receiver,
  { delivery, posted }: { delivery: Delivery; posted: Posted },
): Promise<boolean> {
  const { attempt } = posted
  const { due, ...settled } = settleDelivery({ ...posted, tries: delivery.tries, now: now() })
  const attempts = withDeliveryAttempt(delivery.attempts, attempt)
  const isEnded = due === undefined
  // A replay meanwhile began anew.
  await collections.deliveries.updateOne(
    { _id: delivery._id, state: 'pending', tries: delivery.tries },
    {
      $set: { ...settled, attempts, ...(isEnded ? { expiresAt: new Date(now() + retentionMs) } : { due }) },
      $unset: { fresh: '', ...(isEnded ? { due: '' } : {}) },
    },
  )
  receiver.isDueAt(due?.getTime())
  return settled.state === 'failed'
}

/** Its account may not read it: nothing leaves. */
async function refuse({ collections }: DeliverBatchOptions, { _id }: Delivery): Promise<void> {
  const reason = 'The account of the subscription may not read it.'
  await collections.deliveries.updateOne(
    { _id },
    { $set: { state: 'failed', reason }, $unset: { fresh: '', due: '' } },
  )
}
