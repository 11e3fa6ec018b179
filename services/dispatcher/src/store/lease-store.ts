import { defined } from '@parley/shared/defined'
import { LEASE_EXPIRED, leaseEnd } from '@parley/shared/lease'
import type { Collections, Instance, PartitionLease } from './collections.ts'

/** How long a lease is valid without being renewed, in milliseconds. */
const LEASE_MS = 10_000
// An owner stops this much earlier than the database lets the next one in.
const SAFETY_MS = 1_500
const INSTANCE_ALIVE_MS = 10_000
// One that lives is seen each second.
const PREDECESSOR_GONE_MS = 2_500

/** A lease that we have. Whether it is still valid is judged on the monotonic clock, right before each use. */
export interface Lease {
  /** Of the layout whose partition it is. */
  generation: number
  partition: number
  term: number
  /** Messages published before this time may have been stored under the layout before. */
  repeatsUntil: Date | undefined
  isValid(): boolean
}

export interface LeaseStore {
  /**
   * Says that this instance lives, and whether it is connected to the broker. Lists, sorted, those that share the
   * partitions: the live ones with a broker, or all live ones where none has. What the one before of the same name had
   * is free from then on.
   */
  beat(options: { hasBroker: boolean }): Promise<string[]>
  /**
   * Takes a free or expired lease, or one that this instance has in the store and works no more; undefined when there
   * is none. An instance that a database kept waiting gives its leases up by its own clock, and the database may have
   * renewed them after that: they need not run out once more.
   */
  acquire(working: Iterable<number>): Promise<Lease | undefined>
  /** Renews the leases given; those that are no longer ours, or that have run out meanwhile, are not valid any more. */
  renew(leases: Lease[]): Promise<void>
  /** `isDrained` says that all its queue had is stored and nothing comes to it any more: then nobody takes it again. */
  release(lease: Lease, options?: { isDrained: boolean }): Promise<void>
  /** Takes this instance off the list. */
  leave(): Promise<void>
}

const ALIVE = { $expr: { $gt: ['$seenAt', { $subtract: ['$$NOW', INSTANCE_ALIVE_MS] }] } }

/** True if a live instance is of a version that knows no slots and layouts. */
export async function hasEarlierInstances({ instances }: Pick<Collections, 'instances'>): Promise<boolean> {
  return (await instances.countDocuments({ slots: { $ne: true }, ...ALIVE }, { limit: 1 })) > 0
}

const isGone = { $expr: { $lt: ['$seenAt', { $subtract: ['$$NOW', PREDECESSOR_GONE_MS] }] } }

/**
 * Leases in MongoDB, dated by the database's clock; `now` is monotonic, in milliseconds. Whoever starts a process under
 * a `name` has seen the one before end (as Kafka's static members): its leases need not run out. They are released
 * once it was not seen for 2.5 s, so that two that live by mistake take nothing from each other while both reach the
 * database.
 */
export function createLeaseStore(options: {
  collections: Pick<Collections, 'partitions' | 'instances'>
  instance: string
  name?: string | undefined
  now?: () => number
}): LeaseStore {
  const { collections, instance, name } = options
  const now = options.now ?? (() => performance.now())
  const deadlines = new WeakMap<Lease, number>()
  const grant = (taken: PartitionLease, askedAt: number): Lease => {
    const lease: Lease = {
      generation: taken.generation ?? 1,
      partition: taken._id,
      term: taken.term,
      repeatsUntil: taken.repeatsUntil,
      isValid: () => now() < (deadlines.get(lease) ?? 0),
    }
    deadlines.set(lease, askedAt + LEASE_MS - SAFETY_MS)
    return lease
  }
  const expiry = leaseEnd(LEASE_MS)
  const idsOf = async (filter: object) =>
    (await collections.partitions.find(filter).toArray()).map(({ _id }) => _id)
  const succeed = async (predecessors: Instance[]) => {
    for (const { _id } of predecessors) {
      const gone = await collections.instances.findOneAndDelete({ _id, ...isGone })
      if (gone !== null) await collections.partitions.updateMany({ owner: _id }, { $set: { owner: null } })
    }
  }
  return {
    async beat({ hasBroker }) {
      const seen = [{ $set: { seenAt: '$$NOW', hasBroker, slots: true, ...defined({ name }) } }]
      await collections.instances.updateOne({ _id: instance }, seen, { upsert: true })
      const alive = await collections.instances.find(ALIVE).sort({ _id: 1 }).toArray()
      const isPredecessor = (one: Instance) => name !== undefined && one.name === name && one._id !== instance
      await succeed(alive.filter(isPredecessor))
      const instances = alive.filter((one) => !isPredecessor(one))
      // An instance of an earlier version does not say.
      const connected = instances.filter((one) => one.hasBroker !== false)
      return (connected.length > 0 ? connected : instances).map(({ _id }) => _id)
    },
    async acquire(working) {
      const askedAt = now()
      const givenUp = { owner: instance, _id: { $nin: [...working] } }
      const free = { drained: { $ne: true }, $or: [{ owner: null }, { $expr: LEASE_EXPIRED }, givenUp] }
      const taken = await collections.partitions.findOneAndUpdate(
        free,
        [{ $set: { owner: instance, term: { $add: ['$term', 1] }, expiresAt: expiry } }],
        { returnDocument: 'after' },
      )
      return taken === null ? undefined : grant(taken, askedAt)
    },
    async renew(leases) {
      if (leases.length === 0) return
      const askedAt = now()
      const ours = { owner: instance, $or: leases.map(({ partition, term }) => ({ _id: partition, term })) }
      const renewed = await collections.partitions.updateMany(ours, [{ $set: { expiresAt: expiry } }])
      const areAllOurs = renewed.matchedCount === leases.length
      const found = areAllOurs ? leases.map(({ partition }) => partition) : await idsOf(ours)
      const still = new Set(found)
      for (const lease of leases) {
        // A lease that was found to have run out was left for its next owner, and nobody here takes it up again.
        const isOurs = still.has(lease.partition) && lease.isValid()
        deadlines.set(lease, isOurs ? askedAt + LEASE_MS - SAFETY_MS : 0)
      }
    },
    async release({ partition, term }, { isDrained } = { isDrained: false }) {
      // With threads that are not written it is taken once more: whoever takes it writes them.
      const drained = { drained: { $eq: [{ $type: '$threads' }, 'missing'] } }
      await collections.partitions.updateOne({ _id: partition, owner: instance, term }, [
        { $set: { owner: null, ...(isDrained ? drained : {}) } },
      ])
    },
    async leave() {
      await collections.instances.deleteOne({ _id: instance })
    },
  }
}
