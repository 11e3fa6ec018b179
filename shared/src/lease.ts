import type { mongo } from 'mongoose'

// What a clock and a scheduler may be off by: an owner stops this much before the database lets the next one in.
const MARGIN_MS = 2_000

/** What a document has that one instance at a time leases. */
export interface LeasedDocument {
  _id: string
  owner?: string
  expiresAt?: Date
}

/** The lease of one document, for one owner. */
export interface DocumentLease {
  /** Takes or renews the lease; false while another owner has it. Makes the document when it is not there. */
  acquire(): Promise<boolean>
  /** Whether the lease is valid for another 2 s at least, by the monotonic clock. */
  isValid(): boolean
  /** Releases the lease, so that another owner gets it at once. */
  release(): Promise<void>
}

/** Whether a lease has run out, by the database's clock. */
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
  const { _id, owner, leaseMs } = options
  const collection = () => options.collection() as unknown as mongo.Collection<LeasedDocument>
  let validUntil = 0
  return {
    acquire: async () => {
      const asked = performance.now()
      await collection().updateOne({ _id }, { $setOnInsert: { _id } }, { upsert: true })
      const ours = { _id, $or: [{ owner }, { $expr: LEASE_EXPIRED }] }
      const lease = { owner: { $literal: owner }, expiresAt: leaseEnd(leaseMs) }
      const { matchedCount } = await collection().updateOne(ours, [{ $set: lease }])
      validUntil = matchedCount === 1 ? asked + leaseMs - MARGIN_MS : 0
      return matchedCount === 1
    },
    isValid: () => performance.now() < validUntil,
    release: async () => {
      validUntil = 0
      await collection().updateOne({ _id, owner }, { $unset: { owner: '', expiresAt: '' } })
    },
  }
}
