import { randomUUID } from 'node:crypto'
import type { mongo } from 'mongoose'
import { createLease, type DocumentLease, type LeasedDocument } from '../lease.ts'

/** Where a stream begins: after an event that was dealt with, or at a moment of the database's. */
export type StartingPoint = { resumeAfter: mongo.ResumeToken } | { startAtOperationTime: mongo.Timestamp }

const LEASE_MS = 10_000

/** Which instance of the service runs a relay, and its position. */
export interface StoredRelay extends LeasedDocument {
  from?: StartingPoint
  /** When the position was stored. */
  savedAt?: Date
}

/** One relay's lease, of 10 s, and its place in the change stream. */
export interface RelayState {
  lease: DocumentLease
  /** Where to go on, if that is known, and when that was stored. */
  place(): Promise<Pick<StoredRelay, 'from' | 'savedAt'>>
  /** Stores the place, while the lease is ours; undefined: it is lost, but when it was stored is not. */
  savePlace(from: StartingPoint | undefined): Promise<void>
  /** Forgets the place and when it was stored, while the lease is ours. */
  forgetPlace(): Promise<void>
}

export function createRelayState(options: {
  relays(): mongo.Collection<StoredRelay>
  name: string
}): RelayState {
  const { relays, name } = options
  const owner = randomUUID()
  return {
    lease: createLease({ collection: relays, _id: name, owner, leaseMs: LEASE_MS }),
    place: async () => {
      const { from, savedAt } = (await relays().findOne({ _id: name })) ?? {}
      return { ...(from && { from }), ...(savedAt && { savedAt }) }
    },
    savePlace: async (from) => {
      const savedAt = new Date()
      const change = from === undefined ? { $unset: { from: '' as const } } : { $set: { from, savedAt } }
      await relays().updateOne({ _id: name, owner }, change)
    },
    forgetPlace: async () => {
      const known = { $or: [{ from: { $exists: true } }, { savedAt: { $exists: true } }] }
      await relays().updateOne({ _id: name, owner, ...known }, { $unset: { from: '', savedAt: '' } })
    },
  }
}

/** Lets the relays of a database that has just been made begin with its first write, however late they start. */
export async function beginRelays(
  db: mongo.Db,
  relays: mongo.Collection<StoredRelay>,
  names: readonly string[],
): Promise<void> {
  const { operationTime } = await db.command({ ping: 1 })
  const from: StartingPoint = { startAtOperationTime: operationTime }
  for (const _id of names) await relays.updateOne({ _id }, { $setOnInsert: { from } }, { upsert: true })
}
