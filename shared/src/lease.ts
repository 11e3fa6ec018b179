import type { mongo } from 'mongoose'

// The error of clock and scheduler: an owner stops this much before the database lets the next one in.
const MARGIN_MS = 2_000

/** The fields of a document that one instance at a time leases. */
export interface LeasedDocument {
  _id: string
  owner?: string
  expiresAt?: Date
}

/** The lease of one document, for one owner. */
export interface DocumentLease {
  /** Takes or renews the lease; false while another owner has it. Makes the document when it is not there. */
  acquire(): Promise<boolean>
  /** True when the lease is valid for another 2 s at least, by the monotonic clock. */
  isValid(): boolean
  /** Releases the lease, so that another owner gets it at once. */
  release(): Promise<void>
}

/** The leases of many documents of a collection, for one owner: each as a {@link DocumentLease}. */
interface DocumentLeases {
  acquire(id: string): Promise<boolean>
  /** Renews leases that were taken, all at once; resolves with those that no other owner has taken since. */
  renew(ids: string[]): Promise<Set<string>>
  isValid(id: string): boolean
  release(id: string): Promise<void>
}

/** Condition that a lease has run out, by the database's clock. */
export const LEASE_EXPIRED = { $lt: [{ $ifNull: ['$expiresAt', { $literal: new Date(0) }] }, '$$NOW'] }

/** When a lease runs out that is taken now, by the database's clock. */
export const leaseEnd = (leaseMs: number) => ({ $add: ['$$NOW', leaseMs] })

/** A lease of `leaseMs` on the document `_id`. */
export function createLease<T extends LeasedDocument>(options: {
  collection(): mongo.Collection<T>
  _id: T['_id']
  owner: string
  leaseMs: number
}): DocumentLease {
  const { _id } = options
  const leases = createLeases(options)
  return {
    acquire: () => leases.acquire(_id),
    isValid: () => leases.isValid(_id),
    release: () => leases.release(_id),
  }
}

/** Leases of `leaseMs` on documents of the collection. */
export function createLeases<T extends LeasedDocument>(options: {
  collection(): mongo.Collection<T>
  owner: string
  leaseMs: number
}): DocumentLeases {
  const { owner, leaseMs } = options
  const collection = () => options.collection() as unknown as mongo.Collection<LeasedDocument>
  const validUntil = new Map<string, number>()
  const taken = [{ $set: { owner: { $literal: owner }, expiresAt: leaseEnd(leaseMs) } }]
  const isTaken = async (_id: string) => {
    const free = { _id, $or: [{ owner }, { $expr: LEASE_EXPIRED }] }
    return (await collection().updateOne(free, taken)).matchedCount === 1
  }
  const isMade = async (_id: string) => {
    const { upsertedCount } = await collection().updateOne(
      { _id },
      { $setOnInsert: { _id } },
      { upsert: true },
    )
    return upsertedCount === 1
  }
  return {
    async acquire(id) {
      const until = performance.now() + leaseMs - MARGIN_MS
      const isOurs = (await isTaken(id)) || ((await isMade(id)) && (await isTaken(id)))
      if (isOurs) validUntil.set(id, until)
      else validUntil.delete(id)
      return isOurs
    },
    async renew(ids) {
      if (ids.length === 0) return new Set()
      const until = performance.now() + leaseMs - MARGIN_MS
      const ours = { _id: { $in: ids }, owner }
      const { matchedCount } = await collection().updateMany(ours, taken)
      const found = matchedCount === ids.length ? undefined : await collection().find(ours).toArray()
      const still = new Set(found?.map(({ _id }) => _id) ?? ids)
      for (const id of ids) {
        if (still.has(id)) validUntil.set(id, until)
        else validUntil.delete(id)
      }
      return still
    },
    isValid: (id) => performance.now() < (validUntil.get(id) ?? 0),
    async release(id) {
      validUntil.delete(id)
      await collection().updateOne({ _id: id, owner }, { $unset: { owner: '', expiresAt: '' } })
    },
  }
}
