import { every } from '@parley/shared/every'
import { createLeases } from '@parley/shared/lease'
import type { Log } from '@parley/shared/log'
import { SHARDS } from '../message/delivery.ts'
import type { EventCollections } from '../store/event-collections.ts'

const TICK_MS = 1_000
const LEASE_MS = 10_000
const RENEW_MS = 3_000

const idOf = (shard: number) => `shard ${shard}`

/** The work under the lease of a shard. */
export interface ShardWork {
  /** Starts nothing more; resolves when what is in flight has ended, or is broken off. */
  close(): Promise<void>
}

/** The shards of this instance. */
export interface WorkedShards {
  working(): number[]
  close(): Promise<void>
}

/**
 * Works this instance's share of the shards: each second it takes free ones below its share and releases those beyond
 * it; the leases are renewed every three seconds.
 */
export function startShards(options: {
  shards: EventCollections['shards']
  instance: string
  /** Resolves when the database can be used. */
  ready: Promise<unknown>
  /** How many instances are alive. */
  instances(): Promise<number>
  open(shard: number, isLeased: () => boolean): ShardWork
  log: Log
}): WorkedShards {
  const { shards, instance, ready, instances, open, log } = options
  const leases = createLeases({ collection: () => shards, owner: instance, leaseMs: LEASE_MS })
  const working = new Map<number, ShardWork>()
  /** Those that are handed over, which are renewed until what is in flight in them has ended. */
  const leaving = new Map<ShardWork, Promise<void>>()
  let renewedAt = 0
  const giveUp = async (shard: number, work: ShardWork) => {
    await work.close()
    // It may have been lost meanwhile, and taken again.
    if (working.get(shard) !== work) return
    working.delete(shard)
    await leases.release(idOf(shard))
  }
  const giveUpLater = (shard: number, work: ShardWork) => {
    if (leaving.has(work)) return
    const done = giveUp(shard, work)
      .catch(() => log.warn({ shard }, 'lease of a shard not released: it expires'))
      .finally(() => leaving.delete(work))
    leaving.set(work, done)
  }
  const renew = async () => {
    if (performance.now() < renewedAt + RENEW_MS) return
    renewedAt = performance.now()
    const ours = await leases.renew([...working.keys()].map(idOf))
    for (const [shard, work] of working) {
      if (ours.has(idOf(shard))) continue
      // Another instance has it, which posts again what is in flight here and not answered in time.
      void work.close()
      working.delete(shard)
    }
  }
  const stop = Promise.withResolvers<void>()
  const started = Promise.race([ready, stop.promise])
  const loop = every({
    pauseMs: TICK_MS,
    run: async (signal) => {
      await started
      if (signal.aborted) return
      const share = Math.ceil(SHARDS / Math.max(1, await instances()))
      // Not awaited: the others have to be renewed while requests in flight end.
      for (const [shard, work] of [...working].slice(share)) giveUpLater(shard, work)
      await renew()
      for (let shard = 0; shard < SHARDS && working.size < share; shard++) {
        if (working.has(shard) || !(await leases.acquire(idOf(shard)))) continue
        working.set(
          shard,
          open(shard, () => leases.isValid(idOf(shard))),
        )
      }
    },
    failed: ({ message: reason }) => log.warn({ reason }, 'leases of the deliveries not renewed'),
  })
  return {
    working: () => [...working.keys()],
    async close() {
      stop.resolve()
      await loop.stop()
      for (const [shard, work] of working) giveUpLater(shard, work)
      await Promise.all(leaving.values())
    },
  }
}
