import { insertNew } from '@parley/shared/insert-new'
import type { JsonObject } from '@parley/shared/json-object'
import { type Delivery, deliveryId } from '../message/delivery.ts'
import type { EventCollections } from '../store/event-collections.ts'
import type { Subscription } from './subscriptions.ts'

const MAX_PAYLOAD_BYTES = 256 * 1024

/** An event for one subscription. */
export interface NewDelivery {
  subscription: Pick<Subscription, 'key' | 'shard' | 'workspace'>
  event: string
  record: string
  line: string
  /** Unique within the record. */
  key: string
  at: Date
  data: JsonObject
  /** In the place of `data`, where that is too large. */
  shortData: JsonObject
}

/** Inserts deliveries, in order; those that are there already stay as they are. */
export type InsertDeliveries = (deliveries: readonly NewDelivery[]) => Promise<void>

export function createInsertDeliveries(options: {
  collections: Pick<EventCollections, 'deliveries' | 'counters'>
  retentionMs: number
  now: () => number
}): InsertDeliveries {
  const { collections, retentionMs, now } = options
  return async (deliveries) => {
    if (deliveries.length === 0) return
    const first = await nextSequence(collections.counters, { count: deliveries.length, now: now() })
    const rows = deliveries.map((delivery, at) =>
      rowOf(delivery, { order: first + at, now: now(), retentionMs }),
    )
    await insertNew(collections.deliveries, rows)
  }
}

/** Takes numbers that nobody else takes; they follow the clock, so that times can be looked up by them. */
async function nextSequence(
  counters: EventCollections['counters'],
  { count, now }: { count: number; now: number },
): Promise<number> {
  const value = { $add: [{ $max: [{ $ifNull: ['$value', 0] }, sequenceAt(now)] }, count] }
  const last = await counters.findOneAndUpdate({ _id: 'deliveries' }, [{ $set: { value } }], {
    upsert: true,
    returnDocument: 'after',
  })
  return (last?.value ?? 0) - count + 1
}

/** The least order of what is found after a time (milliseconds since the epoch). */
export const sequenceAt = (time: number): number => Math.floor(time) * 1_000

function rowOf(
  delivery: NewDelivery,
  { order, now, retentionMs }: { order: number; now: number; retentionMs: number },
): Delivery {
  const { subscription, event, record, line, key } = delivery
  return {
    _id: deliveryId(subscription.key, record, key),
    shard: subscription.shard,
    subscription: subscription.key,
    workspace: subscription.workspace,
    event,
    record,
    line,
    order,
    state: 'pending',
    fresh: true,
    tries: 0,
    attempts: [],
    payload: payloadOf(delivery),
    createdAt: new Date(now),
    expiresAt: new Date(now + retentionMs),
  }
}

const payloads = new WeakMap<JsonObject, string>()

/** The same text for every subscription that gets the event. */
function payloadOf({ subscription, event, at, data, shortData }: NewDelivery): string {
  let text = payloads.get(data) ?? JSON.stringify(data)
  if (Buffer.byteLength(text) > MAX_PAYLOAD_BYTES) text = JSON.stringify({ ...shortData, truncated: true })
  payloads.set(data, text)
  const head = { type: event, timestamp: at.toISOString(), workspace: subscription.workspace }
  return `${JSON.stringify(head).slice(0, -1)},"data":${text}}`
}
