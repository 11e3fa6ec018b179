import { every } from '@parley/shared/every'
import { createLease } from '@parley/shared/lease'
import type { Log } from '@parley/shared/log'
import { hourOf } from './audit-records.ts'
import type { Collections } from './collections.ts'
import { GROUP, SUMS } from './usage-records.ts'

const PAUSE_MS = 60_000
const LEASE_MS = 120_000
const HOUR_MS = 60 * 60 * 1_000
/** An entry that could not be written at once comes this much later at most. */
const LATE_MS = 10 * 60 * 1_000
/** Whoever reads has looked at the state at most so long ago. */
const READERS_MS = HOUR_MS
const QUERY_MS = 60_000

type UsageCollections = Pick<Collections, 'usage' | 'usageHours' | 'usageState'>

/** Adds up the entries of each hour once it is over, in one instance at a time, so that reading costs the same in any year. */
export function startAddingUp(options: { collections: UsageCollections; instance: string; log: Log }): {
  stop(): Promise<void>
} {
  const { collections, instance, log } = options
  const lease = createLease({
    collection: () => collections.usageState,
    _id: 'usage',
    owner: instance,
    leaseMs: LEASE_MS,
  })
  const loop = every({
    pauseMs: PAUSE_MS,
    run: async (signal) => {
      if (!(await lease.acquire())) return
      await addUpUsage(collections, { now: Date.now(), active: () => !signal.aborted && lease.isValid() })
    },
    failed: ({ message }) => log.warn({ reason: message }, 'usage not added up; it is tried again'),
  })
  return {
    async stop() {
      await loop.stop()
      await lease.release().catch(() => {})
    },
  }
}

/**
 * Adds up the hours that are over. An hour may be added up again, with the same result, until its entries are removed,
 * which is an hour after the state says that nobody reads them.
 */
export async function addUpUsage(
  { usage, usageHours, usageState }: UsageCollections,
  { now, active }: { now: number; active(): boolean },
): Promise<void> {
  for (;;) {
    const state = await usageState.findOne({ _id: 'usage' })
    // The lease is dated by the database's clock: one that is ahead of it ends no hour early.
    const latest = state?.expiresAt === undefined ? now : state.expiresAt.getTime() - LEASE_MS
    const end = hourOf(new Date(Math.min(now, latest) - LATE_MS)).getTime()
    const from = state?.addedUpTo ?? new Date(0)
    await usage.deleteMany({ at: { $lt: new Date(from.getTime() - READERS_MS) } })
    const [oldest] = await usage
      .find({ at: { $gte: from } }, { projection: { at: 1 }, maxTimeMS: QUERY_MS })
      .sort({ at: 1 })
      .limit(1)
      .toArray()
    const hour = oldest === undefined ? end : Math.min(hourOf(oldest.at).getTime(), end)
    if (!active() || Math.max(hour, from.getTime()) >= end) return
    const next = new Date(hour + HOUR_MS)
    await usage
      .aggregate(
        [
          { $match: { at: { $gte: new Date(hour), $lt: next } } },
          { $group: { _id: { ...GROUP, at: { $literal: new Date(hour) } }, ...SUMS } },
          { $replaceWith: { $mergeObjects: ['$$ROOT', '$_id'] } },
          { $merge: { into: usageHours.collectionName, whenMatched: 'replace' } },
        ],
        { maxTimeMS: QUERY_MS, allowDiskUse: true },
      )
      .toArray()
    if (!active()) return
    await usageState.updateOne({ _id: 'usage' }, { $max: { addedUpTo: next } }, { upsert: true })
  }
}
