import type { mongo } from 'mongoose'
import type { Delivery } from '../message/delivery.ts'
import { CLOCKS_MS } from '../message/due.ts'
import type { EventCollections } from '../store/event-collections.ts'
import type { Receiver } from './receiver.ts'

const RETRIES_AT_ONCE = 50
/** More are due than were read. */
const READ_AGAIN_MS = 500

interface ReadOptions {
  deliveries: EventCollections['deliveries']
  shard: number
  /** Milliseconds since the epoch. */
  now: () => number
}

/** Reads what is to be delivered to a receiver next into its buffer. Those that failed before and are due come first. */
export async function readDeliveries(options: ReadOptions, receiver: Receiver): Promise<void> {
  if (receiver.nextDue !== undefined && receiver.nextDue <= options.now()) await readDue(options, receiver)
  if (receiver.buffer.length === 0 && receiver.hasMore) await readFresh(options, receiver)
}

async function readFresh({ deliveries, shard }: ReadOptions, receiver: Receiver): Promise<void> {
  const known = receiver.known()
  const { limit, readsAgain } = receiver
  const rows = await deliveries
    .find({ shard, subscription: receiver.key, fresh: true })
    .sort({ order: 1 })
    .limit(limit)
    .toArray()
  if (receiver.readsAgain !== readsAgain) return
  receiver.hasMore = rows.length === limit
  receiver.buffer.push(...rows.filter(({ _id }) => !known.has(_id)))
}

async function readDue(options: ReadOptions, receiver: Receiver): Promise<void> {
  const known = receiver.known()
  const { readsAgain } = receiver
  receiver.nextDue = undefined
  if (receiver.isFull) return receiver.isDueAt(options.now() + READ_AGAIN_MS)
  const rows = await dueOf(options, receiver.key)
    .limit(RETRIES_AT_ONCE + known.size)
    .toArray()
    .catch((error) => {
      receiver.isDueAt(options.now())
      throw error
    })
  if (receiver.readsAgain !== readsAgain) return
  const now = options.now()
  const due = rows.filter((row) => (row.due?.getTime() ?? 0) <= now)
  receiver.buffer.unshift(...due.filter(({ _id }) => !known.has(_id)))
  const following = rows[due.length]?.due?.getTime() ?? (due.length > 0 ? now + READ_AGAIN_MS : undefined)
  receiver.isDueAt(following)
}

/**
 * Those that failed while the clock of their instance was ahead of ours are due as long after now as they were to wait
 * then.
 */
export async function correctDues(
  { deliveries, shard, now }: ReadOptions,
  subscription: string,
): Promise<void> {
  const ahead = { $gt: new Date(now() + CLOCKS_MS) }
  const delay = { $subtract: ['$due', { $last: '$attempts.at' }] }
  await deliveries.updateMany({ shard, subscription, due: ahead, 'attempts.at': ahead }, [
    { $set: { due: { $add: [new Date(now()), delay] } } },
  ])
}

/** When the first of those that failed is tried again; undefined where there is none. */
export async function firstDue(options: ReadOptions, subscription: string): Promise<number | undefined> {
  const [first] = await dueOf(options, subscription).limit(1).toArray()
  return first?.due?.getTime()
}

function dueOf(
  { deliveries, shard }: Pick<ReadOptions, 'deliveries' | 'shard'>,
  subscription: string,
): mongo.FindCursor<mongo.WithId<Delivery>> {
  return deliveries.find({ shard, subscription, due: { $exists: true } }).sort({ due: 1 })
}
