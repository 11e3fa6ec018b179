import { every } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import type { ChannelModel } from 'amqplib'
import type { WaitingCounts } from '../message/message-record.ts'
import type { Lease, LeaseStore } from '../store/lease-store.ts'

const TICK_MS = 1_000
/** Every other tick: what is left of a lease is then longer than a primary of MongoDB takes to be replaced. */
const RENEW_MS = 1_900
/** While partitions are missing or change: whoever hands one over must not wait long for its successor. */
const SHORT_TICK_MS = 250
/** An instance that reconnects within this time stays the owner of its partitions. */
const WITHOUT_BROKER_MS = 3_000

/** A partition that this instance works under a lease. */
export interface Partition {
  lease: Lease
  /** When the oldest message that is not stored yet was published, in milliseconds since the epoch. */
  oldestAt(): number | undefined
  /** Returns the conditions that its open messages wait for. */
  waiting(): Promise<WaitingCounts>
  /** Consumes on this connection from now on. */
  attach(connection: ChannelModel): void
  /** Its queue is one that is replaced: all that it had is stored, and the threads are written. */
  isDrained(): boolean
  /** Hands over: settles what is in flight and closes the channel; then the lease may be released. */
  release(): Promise<void>
  /** The lease is gone: closes the channel at once and starts nothing more. */
  abandon(): void
}

export interface Partitions {
  /** The broker is connected (again): every partition that is worked consumes there. */
  attach(connection: ChannelModel): void
  /** Those whose lease this instance has, by their number. */
  working(): ReadonlyMap<number, Pick<Partition, 'lease' | 'oldestAt' | 'waiting'>>
  /** Hands every partition over and takes this instance off the list. */
  close(): Promise<void>
}

/**
 * Works this instance's share of the partitions: each second it says that it lives, every other one it renews its leases; it
 * gives up what it no longer has, hands over what is beyond its share and takes what is free below it. Without a broker for 3 s its
 * share is nothing, unless no instance has one: then what is in the store is still worked.
 */
export function startPartitions(options: {
  leases: LeaseStore
  /** How many partitions there are, and whether that is being changed. */
  layout(): Promise<{ partitions: number; change?: unknown }>
  instance: string
  open(lease: Lease): Partition
  log: Log
}): Partitions {
  const { leases, layout, instance, open, log } = options
  const working = new Map<number, Partition>()
  let connection: ChannelModel | undefined
  let disconnectedAt = performance.now()
  let stopped = false
  /** Those that hand over, until their lease is released: they are worked no more, and only renewed. */
  const leaving = new Set<Partition>()
  const releasing = new Map<Partition, Promise<void>>()
  const forget = (partition: Partition) => {
    leaving.delete(partition)
    const { partition: index } = partition.lease
    // It may have been lost and taken again meanwhile.
    if (working.get(index) === partition) working.delete(index)
  }
  const dropLost = () => {
    for (const [index, partition] of working) {
      if (partition.lease.isValid()) continue
      partition.abandon()
      forget(partition)
      log.warn({ partition: index }, 'lease lost')
    }
  }
  const take = (lease: Lease) => {
    const partition = open(lease)
    working.set(lease.partition, partition)
    if (connection !== undefined) partition.attach(connection)
    log.info({ partition: lease.partition, term: lease.term }, 'partition taken')
  }
  const giveUp = async (partition: Partition) => {
    const isDrained = partition.isDrained()
    await partition.release()
    await leases.release(partition.lease, { isDrained })
    forget(partition)
    log.info({ partition: partition.lease.partition }, 'partition handed over')
  }
  const releaseLater = (partition: Partition) => {
    leaving.add(partition)
    if (releasing.has(partition)) return
    const done = giveUp(partition)
      .catch((error: Error) => log.warn({ reason: error.message }, 'hand-over goes on'))
      .finally(() => releasing.delete(partition))
    releasing.set(partition, done)
  }
  /** It can hang on the database; what is lost meanwhile must not wait for it. */
  const watched = async (work: () => Promise<unknown>) => {
    const watch = setInterval(dropLost, TICK_MS / 2)
    await work().finally(() => clearInterval(watch))
  }
  /** Resolves with whether this instance has fewer partitions than its share, or their number is being changed. */
  const balance = async (): Promise<boolean> => {
    const hasBroker = connection !== undefined || performance.now() - disconnectedAt < WITHOUT_BROKER_MS
    const instances = await leases.beat({ hasBroker })
    const { partitions, change } = await layout()
    const share = fairShare({ partitions, instances, instance })
    const drained = [...working.values()].filter((partition) => partition.isDrained())
    const surplus = [...working.values()].filter((partition) => !leaving.has(partition)).slice(share)
    // Not awaited: renewing must go on while requests in flight end.
    for (const partition of [...leaving, ...drained, ...surplus]) releaseLater(partition)
    // The rest with the next tick: what is taken has to be renewed while others are.
    const until = performance.now() + TICK_MS
    for (let missing = share - working.size; missing > 0 && !stopped; missing--) {
      if (performance.now() > until) return true
      const lease = await leases.acquire(working.keys())
      if (lease === undefined) return true
      take(lease)
    }
    return change !== undefined
  }
  let tickMs = TICK_MS
  let renewedAt = Number.NEGATIVE_INFINITY
  const renew = async () => {
    const now = performance.now()
    if (working.size === 0 || now < renewedAt + RENEW_MS) return
    await leases.renew([...working.values()].map(({ lease }) => lease))
    renewedAt = now
  }
  const tick = () =>
    watched(async () => {
      dropLost()
      await renew()
      dropLost()
      tickMs = (await balance()) ? SHORT_TICK_MS : TICK_MS
    })
  const failed = ({ message }: Error) => log.warn({ reason: message }, 'leases not renewed')
  const loop = every({ pauseMs: () => tickMs, run: tick, failed })
  return {
    attach(model) {
      connection = model
      model.once('close', () => {
        if (connection !== model) return
        connection = undefined
        disconnectedAt = performance.now()
      })
      for (const partition of working.values()) partition.attach(model)
    },
    working: () => working,
    async close() {
      stopped = true
      await loop.stop()
      for (const partition of working.values()) releaseLater(partition)
      const renewing = every({
        pauseMs: TICK_MS,
        run: () => leases.renew([...working.values()].map(({ lease }) => lease)),
        failed,
      })
      await watched(() => Promise.all(releasing.values()))
      await renewing.stop()
      await leases.leave().catch(() => {})
    },
  }
}

/**
 * How many of `partitions` the instance named `instance` should have, so that all instances have the same number within
 * one; the earlier names take what is left over. An instance that is not on the list has none.
 */
export function fairShare(options: { partitions: number; instances: string[]; instance: string }): number {
  const { partitions, instances, instance } = options
  const position = [...instances].sort().indexOf(instance)
  if (position < 0) return 0
  return Math.floor(partitions / instances.length) + (position < partitions % instances.length ? 1 : 0)
}
