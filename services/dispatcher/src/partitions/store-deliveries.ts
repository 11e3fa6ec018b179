import type { Log } from '@parley/shared/log'
import { reject } from '@parley/shared/reject'
import type { ConfirmChannel, ConsumeMessage } from 'amqplib'
import type { Collections } from '../database.ts'
import type { MessageRecord } from '../message-record.ts'
import { applyReplays } from './apply-replays.ts'
import { noteRejected } from './note-rejected.ts'
import { readDelivery } from './read-delivery.ts'
import { storeBatch } from './store-batch.ts'

interface StoreOptions {
  partition: number
  collections: Pick<Collections, 'messages' | 'rejected'>
  /** Whether storing is still ours to do. */
  held(): boolean
  /** The place of the next message that arrives. */
  nextOrder(): number
  /** A message was stored. */
  stored(record: MessageRecord): void
  /** A message that was stored before is open: it has come again, or is to run again. */
  known(record: Pick<MessageRecord, 'workspace' | 'thread' | 'lane'>): void
  log: Log
}

/**
 * Makes the worker of a partition's deliveries: consuming is storing. What can't be stored goes to the rejected
 * ones. One batch at a time; one that comes again keeps its places, so that what an earlier attempt stored is
 * recognised.
 */
export function storeDeliveries(options: StoreOptions) {
  const { partition, collections, log } = options
  const { messages } = collections
  const requireHeld = () => {
    if (!options.held()) throw new Error('the lease is gone')
  }
  const places = new WeakMap<ConsumeMessage, number>()
  const placeOf = (delivery: ConsumeMessage) => {
    const place = places.get(delivery) ?? options.nextOrder()
    places.set(delivery, place)
    return place
  }
  const store = async (batch: ConsumeMessage[], channel: ConfirmChannel): Promise<void> => {
    const readings = batch.map((delivery) => ({ delivery, reading: readDelivery(delivery) }))
    const records = readings.flatMap(({ delivery, reading }) =>
      reading.kind === 'message' ? [{ ...reading.message, partition, order: placeOf(delivery) }] : [],
    )
    requireHeld()
    const { stored, known } = await storeBatch(messages, records)
    const replays = readings.flatMap(({ delivery, reading }) =>
      reading.kind === 'replay' ? [{ ...reading, order: placeOf(delivery) }] : [],
    )
    requireHeld()
    const reopened = await applyReplays(messages, replays)
    for (const { delivery, reading } of readings) {
      if (reading.kind !== 'rejected') continue
      const { reason } = reading
      await noteRejected(collections.rejected, { delivery, reason })
      await reject({ channel, delivery, reason, log })
    }
    // First what is older: a thread that is not known here must not begin with what came after it.
    for (const record of [...known, ...reopened]) options.known(record)
    for (const record of stored) options.stored(record)
  }
  let turn: Promise<unknown> = Promise.resolve()
  // What was under way when a connection broke comes again over the next one, and must not overtake itself.
  return (batch: ConsumeMessage[], channel: ConfirmChannel): Promise<void> => {
    const stored = turn.then(() => store(batch, channel))
    turn = stored.catch(() => {})
    return stored
  }
}
