import { partitionQueue } from '@parley/shared/broker'
import { keepConsuming } from '@parley/shared/keep-consuming'
import type { Log } from '@parley/shared/log'
import type { ChannelModel } from 'amqplib'
import type { Collections } from '../database.ts'
import type { RunMessage } from '../run-message.ts'
import { createThreads } from '../threads/threads.ts'
import type { Lease } from './lease-store.ts'
import { recoverThreads } from './recover-threads.ts'
import { storeDeliveries } from './store-deliveries.ts'

/** Stored in one batch. */
const PREFETCH = 200
const THREADS_AT_ONCE = 64
/** Orders of a lease term start at term × 2^32: higher than those of every earlier term. */
const ORDERS_PER_TERM = 2 ** 32

/** A partition that this copy works under a lease. */
export interface Partition {
  lease: Lease
  /** When the oldest message that is not stored yet was published, in milliseconds since the epoch. */
  oldestAt(): number | undefined
  /** Consumes on this connection from now on. */
  attach(connection: ChannelModel): void
  /** Hands over: settles what is in flight and closes the channel; then the lease may be released. */
  release(): Promise<void>
  /** The lease is gone: closes the channel at once and starts nothing more. */
  abandon(): void
}

/** Starts working a partition: recovers what is open in the store, consumes what arrives, runs its threads. */
export function openPartition(options: {
  lease: Lease
  collections: Pick<Collections, 'messages' | 'rejected'>
  run: RunMessage
  log: Log
}): Partition {
  const { lease, collections, run, log } = options
  const { messages } = collections
  const { partition, term } = lease
  let order = term * ORDERS_PER_TERM
  let stopped = false
  const active = () => !stopped && lease.held()
  const recover = () => void recoverThreads({ messages, partition, threads, active, log })
  const threads = createThreads({
    load: ({ workspace, thread, lane }, limit) =>
      messages
        .find({ partition, workspace, thread, lane: lane ?? { $exists: false }, open: true })
        .sort({ order: 1 })
        .limit(limit)
        .toArray(),
    run: (record) => run(record, lease),
    recover,
    concurrency: THREADS_AT_ONCE,
  })
  const consumer = keepConsuming({
    queue: partitionQueue(partition),
    prefetch: PREFETCH,
    held: lease.held,
    work: storeDeliveries({
      partition,
      collections,
      held: lease.held,
      nextOrder: () => order++,
      stored: (record) => threads.add(record),
      known: (record) => threads.wake(record),
      log,
    }),
    log,
  })
  recover()
  return {
    lease,
    oldestAt: consumer.oldestAt,
    attach: consumer.attach,
    async release() {
      stopped = true
      await Promise.all([threads.stop(), consumer.close()])
    },
    abandon() {
      stopped = true
      void threads.stop()
      consumer.abandon()
    },
  }
}
