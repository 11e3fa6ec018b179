import type { Connection, mongo } from 'mongoose'
import type { MessageRecord } from './message-record.ts'

/** The lease of one partition. */
export interface PartitionLease {
  _id: number
  owner: string | null
  /** Counts owners: what an earlier owner wrote is recognised by its lower term. */
  term: number
  expiresAt: Date
}

/** A live copy of the dispatcher. */
export interface Copy {
  _id: string
  seenAt: Date
}

export interface Collections {
  messages: mongo.Collection<MessageRecord>
  partitions: mongo.Collection<PartitionLease>
  copies: mongo.Collection<Copy>
}

/** The dispatcher's collections, on the native driver: the message path is batches of plain documents. */
export function collectionsOf(connection: Connection): Collections {
  return {
    messages: connection.collection<MessageRecord>('messages') as unknown as mongo.Collection<MessageRecord>,
    partitions: connection.collection<PartitionLease>(
      'partitions',
    ) as unknown as mongo.Collection<PartitionLease>,
    copies: connection.collection<Copy>('copies') as unknown as mongo.Collection<Copy>,
  }
}

const COPY_FORGOTTEN_SECONDS = 60

/** Makes the indexes and the leases of all partitions; harmless when they are there. */
export async function prepareDatabase(connection: Connection, partitions: number): Promise<void> {
  const collections = collectionsOf(connection)
  await collections.messages.createIndexes([
    { key: { partition: 1, workspace: 1, thread: 1, order: 1 }, partialFilterExpression: { open: true } },
    { key: { workspace: 1, receivedAt: -1, _id: -1 } },
    { key: { workspace: 1, state: 1, receivedAt: -1, _id: -1 } },
    { key: { workspace: 1, channel: 1, receivedAt: -1, _id: -1 } },
    { key: { workspace: 1, thread: 1, receivedAt: -1, _id: -1 } },
    { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  ])
  await collections.copies.createIndexes([{ key: { seenAt: 1 }, expireAfterSeconds: COPY_FORGOTTEN_SECONDS }])
  await collections.partitions.bulkWrite(
    Array.from({ length: partitions }, (_, _id) => ({
      updateOne: {
        filter: { _id },
        update: { $setOnInsert: { owner: null, term: 0, expiresAt: new Date(0) } },
        upsert: true,
      },
    })),
  )
}
