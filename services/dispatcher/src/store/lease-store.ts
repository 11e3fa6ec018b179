import { LEASE_EXPIRED, leaseEnd } from '@parley/shared/lease'
import type { Collections } from './collections.ts'

/** How long a lease is valid without being renewed, in milliseconds. */
const LEASE_MS = 10_000
// An owner stops this much earlier than the database lets the next one in.
const SAFETY_MS = 1_500
const INSTANCE_ALIVE_MS = 10_000

/** A lease that we have. Whether it is still valid is judged on the monotonic clock, right before each use. */
export interface Lease {
  partition: number
  term: number
  isValid(): boolean
}

export interface LeaseStore {
  /**
   * Says that this instance lives, and whether it is connected to the broker. Lists, sorted, those that share the
   * partitions: the live ones with a broker, or all live ones where none has.
   */
  beat(options: { hasBroker: boolean }): Promise<string[]>
  /** Takes a free or expired lease; undefined when there is none. */
  acquire(): Promise<Lease | undefined>
  /** Renews the leases given; those that are no longer ours are not valid any more. */
  renew(leases: Lease[]): Promise<void>
  release(lease: Lease): Promise<void>
  /** Takes this instance off the list. */
  leave(): Promise<void>
}

/** Leases in MongoDB, dated by the database's clock; `now` is monotonic, in milliseconds. */
export function createLeaseStore(options: {
  collections: Pick<Collections, 'partitions' | 'instances'>
  instance: string
  now?: () => number
}): LeaseStore {
  const { collections, instance } = options
  const now = options.now ?? (() => performance.now())
  const deadlines = new WeakMap<Lease, number>()
  const grant = (partition: number, term: number, askedAt: number): Lease => {
    const lease: Lease = { partition, term, isValid: () => now() < (deadlines.get(lease) ?? 0) }
    deadlines.set(lease, askedAt + LEASE_MS - SAFETY_MS)
    return lease
  }
  const expiry = leaseEnd(LEASE_MS)
  return {
    async beat({ hasBroker }) {
      const seen = [{ $set: { seenAt: '$$NOW', hasBroker } }]
      await collections.instances.updateOne({ _id: instance }, seen, { upsert: true })
      const alive = { $expr: { $gt: ['$seenAt', { $subtract: ['$$NOW', INSTANCE_ALIVE_MS] }] } }
      const instances = await collections.instances.find(alive).sort({ _id: 1 }).toArray()
      // An instance of an earlier version does not say.
      const connected = instances.filter((one) => one.hasBroker !== false)
      return (connected.length > 0 ? connected : instances).map(({ _id }) => _id)
    },
    async acquire() {
      const askedAt = now()
      const free = { $or: [{ owner: null }, { $expr: LEASE_EXPIRED }] }
      const taken = await collections.partitions.findOneAndUpdate(
        free,
        [{ $set: { owner: instance, term: { $add: ['$term', 1] }, expiresAt: expiry } }],
        { returnDocument: 'after' },
      )
      return taken === null ? undefined : grant(taken._id, taken.term, askedAt)
    },
    async renew(leases) {
      if (leases.length === 0) return
      const askedAt = now()
      const ours = { owner: instance, $or: leases.map(({ partition, term }) => ({ _id: partition, term })) }
      await collections.partitions.updateMany(ours, [{ $set: { expiresAt: expiry } }])
      const still = new Set((await collections.partitions.find(ours).toArray()).map(({ _id }) => _id))
      for (const lease of leases) {
        deadlines.set(lease, still.has(lease.partition) ? askedAt + LEASE_MS - SAFETY_MS : 0)
      }
    },
    async release({ partition, term }) {
      await collections.partitions.updateOne(
        { _id: partition, owner: instance, term },
        { $set: { owner: null } },
      )
    },
    async leave() {
      await collections.instances.deleteOne({ _id: instance })
    },
  }
}
