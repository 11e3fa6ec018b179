import { PARTITIONS } from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import type { ChannelModel } from 'amqplib'
import { fairShare } from './fair-share.ts'
import type { Lease, LeaseStore } from './lease-store.ts'
import type { Partition } from './partition.ts'
import { runEvery } from './run-every.ts'

const TICK_MS = 1_000

export interface Partitions {
  /** The broker is connected (again): every partition held consumes there. */
  attach(connection: ChannelModel): void
  /** Hands every partition over and takes this copy off the list. */
  close(): Promise<void>
}

/**
 * Holds this copy's share of the partitions: each second it says that it lives, renews its leases, gives up what
 * it no longer holds, hands over what is beyond its share and takes what is free below it.
 */
export function startPartitions(options: {
  leases: LeaseStore
  copy: string
  open(lease: Lease): Partition
  log: Log
}): Partitions {
  const { leases, copy, open, log } = options
  const held = new Map<number, Partition>()
  let connection: ChannelModel | undefined
  let stopped = false
  const dropLost = () => {
    for (const [index, partition] of held) {
      if (partition.lease.held()) continue
      partition.abandon()
      held.delete(index)
      log.warn({ partition: index }, 'lease lost')
    }
  }
  const take = (lease: Lease) => {
    const partition = open(lease)
    held.set(lease.partition, partition)
    if (connection !== undefined) partition.attach(connection)
    log.info({ partition: lease.partition, term: lease.term }, 'partition taken')
  }
  const giveUp = async (partition: Partition) => {
    await partition.release()
    await leases.release(partition.lease)
    held.delete(partition.lease.partition)
    log.info({ partition: partition.lease.partition }, 'partition handed over')
  }
  const balance = async () => {
    const copies = await leases.beat()
    const share = fairShare({ partitions: PARTITIONS, copies, copy })
    const surplus = [...held.values()].slice(share)
    // Not awaited: renewing must go on while requests in flight end.
    for (const partition of surplus) if (!releasing.has(partition)) releaseLater(partition)
    for (let missing = share - held.size; missing > 0 && !stopped; missing--) {
      const lease = await leases.acquire()
      if (lease === undefined) return
      take(lease)
    }
  }
  const releasing = new Map<Partition, Promise<void>>()
  const releaseLater = (partition: Partition) => {
    const done = giveUp(partition)
      .catch((error: Error) => log.warn({ reason: error.message }, 'hand-over goes on'))
      .finally(() => releasing.delete(partition))
    releasing.set(partition, done)
  }
  const tick = async () => {
    dropLost()
    try {
      if (held.size > 0) await leases.renew([...held.values()].map(({ lease }) => lease))
      dropLost()
      await balance()
    } catch (error) {
      log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'leases not renewed')
    }
  }
  const loop = runEvery(TICK_MS, tick)
  // A tick can hang on the database; what was lost meanwhile must not wait for it.
  const watch = setInterval(dropLost, TICK_MS / 2)
  return {
    attach(model) {
      connection = model
      for (const partition of held.values()) partition.attach(model)
    },
    async close() {
      stopped = true
      await loop.stop()
      for (const partition of held.values()) if (!releasing.has(partition)) releaseLater(partition)
      const renewing = runEvery(TICK_MS, () =>
        leases.renew([...held.values()].map(({ lease }) => lease)).catch(() => {}),
      )
      await Promise.all(releasing.values())
      await renewing.stop()
      clearInterval(watch)
      await leases.leave().catch(() => {})
    },
  }
}
