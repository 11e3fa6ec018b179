import { randomUUID } from 'node:crypto'
import { createLease, type DocumentLease, type LeasedDocument } from '@parley/shared/lease'
import type { mongo } from 'mongoose'

const ID = 'sealing'
const LEASE_MS = 30_000

/** How far the secrets of a database are sealed. */
export interface StoredSealing extends LeasedDocument {
  /** No service of the release before reads what is written: every secret is sealed. */
  all?: true
  /** When the last look at what is stored began that came to its end, ISO 8601. */
  lookedAt?: string
}

/** The state that the instances share, and the lease of the one that seals what is stored. */
export interface SealingState {
  lease: DocumentLease
  read(): Promise<Pick<StoredSealing, 'all' | 'lookedAt'>>
  /** From now on every secret is sealed. */
  sealAll(): Promise<void>
  /** Records that all secrets written before this time are sealed. */
  looked(at: string): Promise<void>
}

export function createSealingState(sealing: () => mongo.Collection<StoredSealing>): SealingState {
  const set = async (values: Partial<StoredSealing>) => {
    await sealing().updateOne({ _id: ID }, { $set: values }, { upsert: true })
  }
  return {
    lease: createLease({ collection: sealing, _id: ID, owner: randomUUID(), leaseMs: LEASE_MS }),
    read: async () => (await sealing().findOne({ _id: ID })) ?? {},
    sealAll: () => set({ all: true }),
    looked: (lookedAt) => set({ lookedAt }),
  }
}

/** A database that has just been made was never read by an earlier release, and has nothing in the clear. */
export async function beginSealing(sealing: mongo.Collection<StoredSealing>): Promise<void> {
  const begun = { all: true, lookedAt: new Date().toISOString() } as const
  await sealing.updateOne({ _id: ID }, { $setOnInsert: begun }, { upsert: true })
}
