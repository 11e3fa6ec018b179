import { defined } from '@parley/shared/defined'
import { pause } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import { consumeEach } from '@parley/shared/messaging/consumer'
import type { Take } from '@parley/shared/messaging/deliveries'
import { partitionQueue, QUEUE_END_TYPE } from '@parley/shared/messaging/layout'
import type { Publisher } from '@parley/shared/messaging/publisher'
import type { ModelCalls } from '../agents/turns/model-calls.ts'
import type { HeedMessages } from '../consent/heed-messages.ts'
import type { ThreadLog } from '../conversations/thread-log.ts'
import type { DeliverMessage } from '../deliver/deliver-message.ts'
import type { WaitingCounts } from '../message/message-record.ts'
import type { Partition } from '../schedule/partitions.ts'
import { recoverThreads } from '../schedule/recover-threads.ts'
import { createThreads, type Threads } from '../schedule/threads.ts'
import type { Collections } from '../store/collections.ts'
import type { Committer } from '../store/commit.ts'
import type { Lease } from '../store/lease-store.ts'
import type { Traffic } from '../store/traffic.ts'
import { createIntake, type Intake } from './intake.ts'
import type { IntakeStore } from './intake-store.ts'
import type { NonSpeech } from './non-speech.ts'
import { storeDeliveries } from './store-deliveries.ts'
import { createWriteBehind } from './write-behind.ts'

/** Deliveries of one partition that are not acked yet. */
const PREFETCH = 100
/** Work of this process and its database: what waits for an answer of others is not among it. */
const THREADS_AT_ONCE = 64
/** Orders of a lease term start at term × 2^32: higher than those of every earlier term. */
const SEQUENCE_NUMBERS_PER_TERM = 2 ** 32
/**
 * A hand-over waits so long for models, whose answers are paid for, and then as long for handlers. What has not been
 * answered by then is asked for again.
 */
const DRAIN_MS = 5_000

/** Starts working a partition: recovers what is open in the store, consumes what arrives, runs its threads. */
export function openPartition(options: {
  lease: Lease
  instance: string
  collections: Pick<Collections, 'messages' | 'rejected' | 'audited'>
  store: IntakeStore
  nonSpeech: NonSpeech
  heed: HeedMessages
  committer: Committer
  run: DeliverMessage
  modelCalls: Pick<ModelCalls, 'drain'>
  /** How many partitions this instance works. */
  partitions(): number
  /** How long a hand-over waits for models, and then for handlers, in milliseconds. */
  drainMs?: number
  deadLetters: Pick<Publisher, 'publish'>
  /** Declares the partition's queue again when it was deleted. */
  declare(): Promise<void>
  threadLog: Pick<ThreadLog, 'touch' | 'open' | 'isWhole' | 'release' | 'abandon'>
  traffic: Pick<Traffic, 'accepted'>
  log: Log
}): Partition {
  const {
    lease,
    instance,
    collections,
    store,
    nonSpeech,
    heed,
    committer,
    run,
    deadLetters,
    threadLog,
    traffic,
    log,
  } = options
  const { modelCalls, declare, drainMs = DRAIN_MS } = options
  const { messages } = collections
  const { partition, term, repeatsUntil, isValid: isLeased } = lease
  let stopped = false
  const active = () => !stopped && isLeased()
  const writeBehind = createWriteBehind({
    writer: `${instance}/${term}`,
    isLeased,
    store,
    committer,
    threadLog,
    traffic,
  })
  const threads = createThreads({
    load: ({ workspace, thread, lane }, limit) =>
      store.open({ partition, workspace, thread, ...defined({ lane }) }, limit),
    run: (record, calling) => run(record, writeBehind, calling),
    concurrency: THREADS_AT_ONCE,
    partitions: options.partitions,
  })
  const recover = (workspace?: number) =>
    void recoverThreads({ messages, partition, workspace, threads, active, log })
  threads.on('room', recover)
  const intake = createIntake({
    partition,
    isLeased,
    repeatsUntil,
    firstSequenceNumber: term * SEQUENCE_NUMBERS_PER_TERM,
    store,
    storeFirst: storeDeliveries({ partition, collections, isLeased, threadLog, traffic }),
    nonSpeech,
    heed,
    writeBehind,
    threads,
    log,
  })
  const untilEnd = createUntilEnd(intake)
  const consumer = consumeEach({
    queue: partitionQueue(lease),
    prefetch: PREFETCH,
    isActive: isLeased,
    take: untilEnd.take,
    deadLetters,
    declare,
    log,
  })
  recover()
  threadLog.open(lease)
  return {
    lease,
    oldestAt: () => consumer.oldestAt(),
    waiting: () => countWaiting({ messages, partition, threads }),
    isDrained: () => untilEnd.isDrained() && threadLog.isWhole(lease),
    attach: (connection) => consumer.attach(connection),
    async release() {
      await Promise.race([modelCalls.drain(writeBehind.ended), pause(drainMs, writeBehind.ended)])
      stopped = true
      const closed = consumer.close()
      const idle = threads.stop()
      await Promise.race([idle, pause(drainMs, writeBehind.ended)])
      writeBehind.handOver()
      await idle
      intake.close()
      await writeBehind.close()
      await closed
      await threadLog.release(lease)
    },
    abandon() {
      stopped = true
      threadLog.abandon(lease)
      void threads.stop()
      intake.close()
      writeBehind.abandon()
      consumer.abandon()
    },
  }
}

/** Beyond so many open messages of a partition the count says this many. */
const MOST = 10_000

/**
 * What the open messages of a partition wait for: those that are first in their threads by memory, the rest by a
 * bounded count over the index. Costs the same with any backlog. Without an answer of the database it is only the
 * first ones.
 */
async function countWaiting(options: {
  messages: Collections['messages']
  partition: number
  threads: Pick<Threads, 'waiting' | 'count'>
}): Promise<WaitingCounts> {
  const { messages, partition, threads } = options
  const open = await messages
    .countDocuments({ partition, open: true }, { limit: MOST, maxTimeMS: 2_000 })
    .catch(() => 0)
  const counts = threads.waiting()
  const behind = open - threads.count()
  if (behind <= 0) return counts
  const oldestAt = Math.min(...[...counts.values()].map((one) => one.oldestAt), Date.now())
  return counts.set('thread', { messages: behind, oldestAt })
}

/** Takes what arrives at a queue, and knows when the last of it is safe. */
interface UntilEnd {
  take: Take
  /** The end of the queue has come, and all that was in front of it is safe. */
  isDrained(): boolean
}

/**
 * The end of a queue is published to it once nothing else is any more. It comes as often as it takes: one that comes again
 * says the same.
 */
export function createUntilEnd(intake: Pick<Intake, 'take'>): UntilEnd {
  let unsafe = 0
  let allSafe: PromiseWithResolvers<void> | undefined
  let drained = false
  const end = async () => {
    allSafe ??= Promise.withResolvers()
    if (unsafe === 0) allSafe.resolve()
    await allSafe.promise
    drained = true
    return undefined
  }
  const left = (error: unknown) => {
    unsafe--
    // It comes again, and so does the end behind it.
    allSafe?.reject(error)
    allSafe = undefined
    throw error
  }
  return {
    isDrained: () => drained,
    take(delivery) {
      if (delivery.properties.type === QUEUE_END_TYPE) return end()
      unsafe++
      return intake.take(delivery).then((dead) => {
        if (--unsafe === 0) allSafe?.resolve()
        return dead
      }, left)
    },
  }
}
