import { every } from '@parley/shared/every'
import { createLease, type DocumentLease } from '@parley/shared/lease'
import type { Log } from '@parley/shared/log'
import { SHARDS } from '../message/delivery.ts'
import type { EventCollections } from '../store/event-collections.ts'

const TICK_MS = 1_000
const LEASE_MS = 10_000
const RENEW_MS = 3_000

/** What is worked under the lease of a shard. */
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
  const leases: DocumentLease[] = Array.from({ length: SHARDS }, (_, shard) =>
    createLease({ collection: () => shards, _id: `shard ${shard}`, owner: instance, leaseMs: LEASE_MS }),
  )
  const working = new Map<number, ShardWork>()
  const renewedAt = new Map<number, number>()
  const giveUp = async (shard: number) => {
    await working.get(shard)?.close()
    working.delete(shard)
    await leases[shard]?.release()
  }
  const stop = Promise.withResolvers<void>()
  const started = Promise.race([ready, stop.promise])
  const loop = every({
    pauseMs: TICK_MS,
    run: async (signal) => {
      await started
      if (signal.aborted) return
      const share = Math.ceil(SHARDS / Math.max(1, await instances()))
      for (const shard of [...working.keys()].slice(share)) await giveUp(shard)
      for (const [shard, lease] of leases.entries()) {
        const isOurs = working.has(shard)
        if (!isOurs && working.size >= share) continue
        if (isOurs && performance.now() < (renewedAt.get(shard) ?? 0) + RENEW_MS) continue
        renewedAt.set(shard, performance.now())
        if (await lease.acquire()) {
          if (!isOurs) working.set(shard, open(shard, lease.isValid))
        } else if (isOurs) {
          // Another instance has it, which posts again what is in flight here and not answered in time.
          void working.get(shard)?.close()
          working.delete(shard)
        }
      }
    },
    failed: ({ message: reason }) => log.warn({ reason }, 'leases of the deliveries not renewed'),
  })
  return {
    working: () => [...working.keys()],
    async close() {
      stop.resolve()
      await loop.stop()
      await Promise.all(
        [...working.keys()].map((shard) =>
          giveUp(shard).catch(() => log.warn({ shard }, 'lease of a shard not released: it expires')),
        ),
      )
    },
  }
}
