import type { Log } from '@parley/shared/log'
import type { ChannelModel } from 'amqplib'
import type { Collections } from '../database.ts'
import type { RunMessage } from '../run-message.ts'
import { createThreads } from '../threads/threads.ts'
import { type Consumer, consume } from './consume.ts'
import type { Lease } from './lease-store.ts'
import { recoverThreads } from './recover-threads.ts'

const THREADS_AT_ONCE = 32
const PAUSE_MS = 500
/** Orders of a lease term start at term × 2^32: higher than those of every earlier term. */
const ORDERS_PER_TERM = 2 ** 32

/** A partition that this copy works under a lease. */
export interface Partition {
  lease: Lease
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
  messages: Collections['messages']
  run: RunMessage
  log: Log
}): Partition {
  const { lease, messages, run, log } = options
  const { partition, term } = lease
  let order = term * ORDERS_PER_TERM
  let connection: ChannelModel | undefined
  let consumer: Consumer | undefined
  let retry: NodeJS.Timeout | undefined
  let stopped = false
  const active = () => !stopped && lease.held()
  const recover = () => void recoverThreads({ messages, partition, threads, active, log })
  const threads = createThreads({
    load: ({ workspace, thread }, limit) =>
      messages.find({ partition, workspace, thread, open: true }).sort({ order: 1 }).limit(limit).toArray(),
    run: (record) => run(record, lease),
    recover,
    concurrency: THREADS_AT_ONCE,
  })
  const start = async (model: ChannelModel) => {
    if (!active() || connection !== model || consumer !== undefined) return
    try {
      consumer = await consume({
        connection: model,
        partition,
        messages,
        nextOrder: () => order++,
        held: lease.held,
        stored: (record) => threads.add(record),
        known: (record) => threads.wake(record),
        closed: () => {
          consumer = undefined
          again(model)
        },
        log,
      })
      if (!active()) consumer.abandon()
    } catch (error) {
      log.warn(
        { partition, reason: error instanceof Error ? error.message : 'unknown' },
        'partition not consumed',
      )
      again(model)
    }
  }
  // A channel that was closed on a live connection is opened anew; a lost connection brings a new `attach`.
  const again = (model: ChannelModel) => {
    clearTimeout(retry)
    retry = setTimeout(() => void start(model), PAUSE_MS)
  }
  recover()
  return {
    lease,
    attach(model) {
      connection = model
      consumer = undefined
      void start(model)
    },
    async release() {
      stopped = true
      clearTimeout(retry)
      await Promise.all([threads.stop(), consumer?.close()])
    },
    abandon() {
      stopped = true
      clearTimeout(retry)
      void threads.stop()
      consumer?.abandon()
    },
  }
}
