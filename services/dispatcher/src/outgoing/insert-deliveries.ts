import { insertNew } from '@parley/shared/insert-new'
import type { JsonObject } from '@parley/shared/json-object'
import { type Delivery, deliveryId } from '../message/delivery.ts'
import type { EventCollections } from '../store/event-collections.ts'
import type { Subscription } from './subscriptions.ts'

const MAX_PAYLOAD_BYTES = 256 * 1024
const MAX_INSERTED = 1_000
/** Of the payloads that are in memory at once: a batch of large documents for many subscriptions has gigabytes. */
const MAX_INSERTED_BYTES = 8 * 1024 * 1024

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
  const insert = async (payloads: readonly Payload[]) => {
    const first = await nextSequence(collections.counters, { count: payloads.length, now: now() })
    const rows = payloads.map((payload, at) => rowOf(payload, { order: first + at, now: now(), retentionMs }))
    await insertNew(collections.deliveries, rows)
  }
  return async (deliveries) => {
    for (let at = 0; at < deliveries.length; at += MAX_INSERTED) {
      const missing = await missingOf(collections.deliveries, deliveries.slice(at, at + MAX_INSERTED))
      for (const payloads of payloadsOf(missing)) await insert(payloads)
    }
  }
}

interface Identified {
  _id: string
  delivery: NewDelivery
}

type Payload = Identified & { payload: string }

/** Those that are not there yet: what has become of a record comes again with each write to it. */
async function missingOf(
  collection: EventCollections['deliveries'],
  deliveries: readonly NewDelivery[],
): Promise<Identified[]> {
  const identified = deliveries.map((delivery) => {
    const { subscription, record, key } = delivery
    return { _id: deliveryId(subscription.key, record, key), delivery }
  })
  const filter = { _id: { $in: identified.map(({ _id }) => _id) } }
  // Documents that a primary alone has may be lost with it.
  const options = { projection: { _id: 1 }, readConcern: 'majority' } as const
  const present = new Set((await collection.find(filter, options).toArray()).map(({ _id }) => _id))
  return identified.filter(({ _id }) => !present.has(_id))
}

/** In order, as many at once as memory has room for. */
function* payloadsOf(identified: readonly Identified[]): Generator<Payload[]> {
  const payloadOf = createPayloadOf()
  let payloads: Payload[] = []
  let bytes = 0
  for (const { _id, delivery } of identified) {
    const payload = payloadOf(delivery)
    payloads.push({ _id, delivery, payload })
    bytes += Buffer.byteLength(payload)
    if (bytes < MAX_INSERTED_BYTES) continue
    yield payloads
    payloads = []
    bytes = 0
  }
  if (payloads.length > 0) yield payloads
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
  { _id, delivery, payload }: Payload,
  { order, now, retentionMs }: { order: number; now: number; retentionMs: number },
): Delivery {
  const { subscription, event, record, line } = delivery
  return {
    _id,
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
    payload,
    createdAt: new Date(now),
    expiresAt: new Date(now + retentionMs),
  }
}

/** Of deliveries in order: those that say the same follow each other, and share its text. */
function createPayloadOf(): (delivery: NewDelivery) => string {
  let last: { data: JsonObject; text: string } | undefined
  return ({ subscription, event, at, data, shortData }) => {
    if (last?.data !== data) last = { data, text: textOf(data, shortData) }
    const head = { type: event, timestamp: at.toISOString(), workspace: subscription.workspace }
    return `${JSON.stringify(head).slice(0, -1)},"data":${last.text}}`
  }
}

function textOf(data: JsonObject, shortData: JsonObject): string {
  const text = JSON.stringify(data)
  return Buffer.byteLength(text) > MAX_PAYLOAD_BYTES
    ? JSON.stringify({ ...shortData, truncated: true })
    : text
}
