import { randomUUID } from 'node:crypto'
import type mongoose from 'mongoose'

/** Where a stream begins: after an event that was dealt with, or at a moment of the database's. */
export type StartingPoint =
  | { resumeAfter: mongoose.mongo.ResumeToken }
  | { startAtOperationTime: mongoose.mongo.Timestamp }

const RELAYS = ['history', 'events'] as const
export type RelayName = (typeof RELAYS)[number]

const LEASE_SECONDS = 10
// What a clock and a scheduler may be off by; the lease is given up this long before it ends.
const MARGIN_MS = 2_000

/** Which instance of the service runs a relay, and its position. */
export interface StoredRelay {
  _id: RelayName
  owner?: string
  expiresAt?: Date
  from?: StartingPoint
}

/** One relay's lease and its place in the change stream. */
export interface RelayState {
  /** Takes or renews the lease for 10 s by the database's clock; false while another owner has it. */
  acquire(): Promise<boolean>
  /** Whether the lease is valid for another 2 s at least. */
  isLeased(): boolean
  /** Releases the lease, so that another instance takes over at once. */
  release(): Promise<void>
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
  let leasedUntil = 0
  return {
    acquire: async () => {
      const asked = performance.now()
      const taken = await takeOver(relays(), name, owner)
      leasedUntil = taken ? asked + LEASE_SECONDS * 1000 - MARGIN_MS : 0
      return taken
    },
    isLeased: () => performance.now() < leasedUntil,
    release: async () => {
      leasedUntil = 0
      await relays().updateOne({ _id: name, owner }, { $unset: { owner: '', expiresAt: '' } })
    },
    place: async () => (await relays().findOne({ _id: name }))?.from,
    savePlace: async (from) => {
      const change = from === undefined ? { $unset: { from: '' as const } } : { $set: { from } }
      await relays().updateOne({ _id: name, owner }, change)
    },
  }
}

async function takeOver(
  relays: mongoose.mongo.Collection<StoredRelay>,
  name: RelayName,
  owner: string,
): Promise<boolean> {
  await relays.updateOne({ _id: name }, { $setOnInsert: { _id: name } }, { upsert: true })
  const expired = { $lt: [{ $ifNull: ['$expiresAt', { $literal: new Date(0) }] }, '$$NOW'] }
  const expiresAt = { $dateAdd: { startDate: '$$NOW', unit: 'second', amount: LEASE_SECONDS } }
  const result = await relays.updateOne({ _id: name, $or: [{ owner }, { $expr: expired }] }, [
    { $set: { owner: { $literal: owner }, expiresAt } },
  ])
  return result.matchedCount === 1
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
