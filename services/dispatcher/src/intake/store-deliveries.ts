import type { DeadLetter } from '@parley/shared/messaging/deliveries'
import type { ConsumeMessage } from 'amqplib'
import type { ThreadLog } from '../conversations/thread-log.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { isReplayable, isResumable, reopened, replayed } from '../message/progress.ts'
import type { Collections } from '../store/collections.ts'
import type { Traffic } from '../store/traffic.ts'
import { storeBatch } from './intake-store.ts'
import type { DeliveryReading } from './read-delivery.ts'

// Longer than the retention of the log stream: the auditor reads each entry of the log within that time.
const UNREADABLE_RETENTION_MS = 8 * 24 * 60 * 60 * 1_000

/** A delivery, read, with its place among all of the partition. */
export interface Arrived {
  reading: DeliveryReading
  /** True if it may have been delivered before. */
  redelivered: boolean
  /** The delivery of one that is not a message: a message is wholly in its reading. */
  delivery: ConsumeMessage | undefined
  order: number
  safe: PromiseWithResolvers<DeadLetter | undefined>
}

interface StoreOptions {
  partition: number
  collections: Pick<Collections, 'messages' | 'rejected' | 'audited'>
  threadLog: Pick<ThreadLog, 'touch'>
  traffic: Pick<Traffic, 'accepted'>
  /** True while this instance is the one to store them. */
  isLeased(): boolean
}

/** Stores what is not run first; rejects when it could not, and the same may then be given again. */
export type StoreDeliveries = (arrived: Arrived[]) => Promise<{
  stored: MessageRecord[]
  /** Open messages that were stored before: they have come again, or are to run again. */
  earlier: Array<Pick<MessageRecord, 'workspace' | 'thread' | 'lane' | 'takenOver'>>
}>

/**
 * Stores deliveries, and notes the ids of what can't be stored. One that comes again has its sequence number again, so
 * that what an earlier attempt stored is recognised.
 */
export function storeDeliveries(options: StoreOptions): StoreDeliveries {
  const { partition, collections, threadLog, traffic } = options
  const { messages } = collections
  const requireLease = () => {
    if (!options.isLeased()) throw new Error('the lease is gone')
  }
  return async (given) => {
    const arrived = await withoutErased(collections.audited, given)
    const records = arrived.flatMap(({ reading, order }) =>
      reading.kind === 'message' ? [{ ...reading.message, partition, order }] : [],
    )
    requireLease()
    const { stored, known } = await storeBatch(messages, records)
    for (const record of stored) {
      threadLog.touch(record)
      traffic.accepted(record)
    }
    const replays = arrived.flatMap(({ reading, order }) =>
      reading.kind === 'replay' ? [{ ...reading, partition, order }] : [],
    )
    requireLease()
    const reopened = await applyReplays(messages, replays)
    for (const { delivery, reading } of arrived) {
      if (reading.kind === 'rejected' && delivery !== undefined)
        await recordUnreadable(collections.rejected, { delivery, reason: reading.reason })
    }
    return { stored, earlier: [...known, ...reopened] }
  }
}

/** Drops erased messages that the broker delivers again: they are acknowledged and forgotten. */
async function withoutErased(audited: Collections['audited'], arrived: Arrived[]): Promise<Arrived[]> {
  const ids = arrived.flatMap(({ reading, redelivered }) =>
    reading.kind === 'message' && redelivered ? reading.message._id : [],
  )
  if (ids.length === 0) return arrived
  const erased = await audited
    .find({ _id: { $in: ids }, place: 'erased' }, { projection: { _id: 1 } })
    .toArray()
  const gone = new Set(erased.map(({ _id }) => _id))
  return arrived.filter(({ reading }) => reading.kind !== 'message' || !gone.has(reading.message._id))
}

/** Writes the id of a message down before it becomes a dead letter, so that it can be counted there. */
async function recordUnreadable(
  rejected: Collections['rejected'],
  { delivery, reason }: { delivery: Pick<ConsumeMessage, 'properties'>; reason: string },
): Promise<void> {
  const { messageId } = delivery.properties
  if (typeof messageId !== 'string') return
  const at = new Date()
  const found = { reason, at, expiresAt: new Date(at.getTime() + UNREADABLE_RETENTION_MS) }
  await rejected.updateOne({ _id: messageId }, { $set: found }, { upsert: true })
}

/** Each round loses only to a status of the same message, of which there are a few. */
const MAX_ROUNDS = 10

/** The request to run a message again, and its place among what arrives. */
interface Replay {
  workspace: number
  messageId: string
  partition: number
  order: number
  /** It is looked at again where it is open; one that has ended stays as it is. */
  onlyOpen?: boolean | undefined
  /** Sends that failed after the provider took them are made again, where that is due. */
  onlyFailed?: boolean | undefined
}

/**
 * Opens the messages that are to run again, and returns those that are open now, also when an earlier attempt
 * with the same replays opened them. What may not be replayed any more stays as it is.
 */
export async function applyReplays(
  messages: Collections['messages'],
  replays: Replay[],
): Promise<MessageRecord[]> {
  if (replays.length === 0) return []
  const places = new Map(
    replays.flatMap(({ messageId, partition, order, onlyOpen, onlyFailed }) =>
      onlyOpen === true ? [] : [[messageId, { partition, order, onlyFailed }] as const],
    ),
  )
  const filter = { $or: replays.map(({ messageId, workspace }) => ({ _id: messageId, workspace })) }
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await messages.find(filter).toArray()
    const opening = found.flatMap((record) => {
      const next = runAgain(record, places.get(record._id))
      if (next === undefined) return []
      return { replaceOne: { filter: { _id: record._id, revision: record.revision }, replacement: next } }
    })
    if (opening.length === 0) break
    // A status may have been written meanwhile: what it left as it was is looked at again.
    const { matchedCount } = await messages.bulkWrite(opening, { ordered: false })
    if (matchedCount === opening.length) break
  }
  return messages.find({ ...filter, open: true }, { projection: { body: 0 } }).toArray()
}

/** The message as it runs again; undefined where it does not. */
function runAgain(
  record: MessageRecord,
  again: Pick<Replay, 'partition' | 'order' | 'onlyFailed'> | undefined,
): MessageRecord | undefined {
  if (again === undefined || record.open === true) return undefined
  const { partition, order, onlyFailed } = again
  const place = { at: new Date(), partition, order }
  if (onlyFailed === true) return isResumable(record) ? reopened(record, place) : undefined
  return isReplayable(record) ? replayed(record, place) : undefined
}
