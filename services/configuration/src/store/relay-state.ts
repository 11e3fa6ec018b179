import { randomUUID } from 'node:crypto'
import { createLease, type DocumentLease, type LeasedDocument } from '@parley/shared/lease'
import type mongoose from 'mongoose'

/** Where a stream begins: after an event that was dealt with, or at a moment of the database's. */
export type StartingPoint =
  | { resumeAfter: mongoose.mongo.ResumeToken }
  | { startAtOperationTime: mongoose.mongo.Timestamp }

const RELAYS = ['history', 'events'] as const
export type RelayName = (typeof RELAYS)[number]

const LEASE_MS = 10_000

/** Which instance of the service runs a relay, and its position. */
export interface StoredRelay extends LeasedDocument {
  _id: RelayName
  from?: StartingPoint
}

/** One relay's lease, of 10 s, and its place in the change stream. */
export interface RelayState {
  lease: DocumentLease
  /** Where to go on, if that is known. */
  place(): Promise<StartingPoint | undefined>
  /** Stores the place (undefined forgets it), while the lease is ours. */
  savePlace(from: StartingPoint | undefined): Promise<void>
}

export function createRelayState(options: {
  relays(): mongoose.mongo.Collection<StoredRelay>
  name: RelayName
}): RelayState {
  const { relays, name } = options
  const owner = randomUUID()
  return {
    lease: createLease({ collection: relays, _id: name, owner, leaseMs: LEASE_MS }),
    place: async () => (await relays().findOne({ _id: name }))?.from,
    savePlace: async (from) => {
      const change = from === undefined ? { $unset: { from: '' as const } } : { $set: { from } }
      await relays().updateOne({ _id: name, owner }, change)
    },
  }
}

/**
 * Lets the relays of a database that has just been made begin with its first write, however late they start.
 */
export async function beginRelays(db: mongoose.mongo.Db): Promise<void> {
  const { operationTime } = await db.command({ ping: 1 })
  const from: StartingPoint = { startAtOperationTime: operationTime }
  for (const _id of RELAYS) {
    await db
      .collection<StoredRelay>('relays')
      .updateOne({ _id }, { $setOnInsert: { from } }, { upsert: true })
  }
}
