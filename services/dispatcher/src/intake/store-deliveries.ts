import type { Log } from '@parley/shared/log'
import { reject } from '@parley/shared/reject'
import type { MessageRecord } from '../message/message-record.ts'
import type { Collections } from '../store/collections.ts'
import { applyReplays } from './apply-replays.ts'
import type { Arrived } from './intake.ts'
import { recordRejected } from './record-rejected.ts'
import { storeBatch } from './store-batch.ts'

interface StoreOptions {
  partition: number
  collections: Pick<Collections, 'messages' | 'rejected'>
  /** Whether storing is still ours to do. */
  isLeased(): boolean
  /** A message that was stored before is open: it has come again, or is to run again. */
  known(record: Pick<MessageRecord, 'workspace' | 'thread' | 'lane'>): void
  log: Log
}

/** Stores what is not run first; rejects when it could not, and the same may then be given again. */
export type StoreDeliveries = (
  arrived: Arrived[],
  /** A message was stored. */
  stored: (record: MessageRecord) => void,
) => Promise<void>

/**
 * Stores deliveries, and moves what can't be stored to the rejected ones. One that comes again keeps its place, so
 * that what an earlier attempt stored is recognised.
 */
export function storeDeliveries(options: StoreOptions): StoreDeliveries {
  const { partition, collections, log } = options
  const { messages } = collections
  const requireLease = () => {
    if (!options.isLeased()) throw new Error('the lease is gone')
  }
  return async (arrived, reportStored) => {
    const records = arrived.flatMap(({ reading, order }) =>
      reading.kind === 'message' ? [{ ...reading.message, partition, order }] : [],
    )
    requireLease()
    const { stored, known } = await storeBatch(messages, records)
    const replays = arrived.flatMap(({ reading, order }) =>
      reading.kind === 'replay' ? [{ ...reading, order }] : [],
    )
    requireLease()
    const reopened = await applyReplays(messages, replays)
    for (const { origin, reading } of arrived) {
      if (reading.kind !== 'rejected' || origin === undefined) continue
      const { reason } = reading
      await recordRejected(collections.rejected, { ...origin, reason })
      await reject({ ...origin, reason, log })
    }
    // First what is older: a thread that is not known here must not begin with what came after it.
    for (const record of [...known, ...reopened]) options.known(record)
    for (const record of stored) reportStored(record)
  }
}
