import type { Log } from '@parley/shared/log'
import type { Collections } from '../database.ts'
import { group } from '../group.ts'
import type { MessageRecord } from '../message-record.ts'
import { storeBatch } from './store-batch.ts'

const GATHER_MS = 5
const AGAIN_MS = 500
const MAX_ID_CHARACTERS = 128

/** A message that is to be stored. */
export interface ToStore {
  /** Whether storing is still ours to do. */
  held(): boolean
  /** How long its texts are at the moment. */
  characters(): number
  /** The message as it is now; from here on it changes in the store alone. */
  begin(): MessageRecord
}

/** What became of it: brought in by us, there already, or left to whoever has the lease now. */
export type StoreResult = 'stored' | 'known' | 'left'

/** How the partitions of a copy look up and store what arrives: together, since a statement costs more than its share. */
export interface ArrivalStore {
  /** Those of the ids that are in the store. Rejects while the database is away. */
  known(ids: string[]): Promise<Set<string>>
  /** Stores a message. Those given first are in the store first; with the database away it waits under the lease. */
  insert(message: ToStore): Promise<StoreResult>
}

export function createArrivalStore(messages: Collections['messages'], log: Log): ArrivalStore {
  const insertOnce = async (
    records: Map<ToStore, MessageRecord>,
  ): Promise<Set<MessageRecord> | undefined> => {
    try {
      return new Set((await storeBatch(messages, [...records.values()])).stored)
    } catch (error) {
      log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'messages not stored yet')
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
      return undefined
    }
  }
  const insertAll = async (batch: ToStore[]): Promise<StoreResult[]> => {
    const begun = new Map<ToStore, MessageRecord>()
    for (;;) {
      for (const message of batch) {
        if (!message.held()) begun.delete(message)
        else if (!begun.has(message)) begun.set(message, message.begin())
      }
      if (begun.size === 0) return batch.map(() => 'left')
      const stored = await insertOnce(begun)
      if (stored === undefined) continue
      return batch.map((message) => {
        const record = begun.get(message)
        if (record === undefined) return 'left'
        return stored.has(record) ? 'stored' : 'known'
      })
    }
  }
  return {
    known: group<string[], Set<string>>({
      work: async (batch) => {
        const asked = { _id: { $in: batch.flat() } }
        const found = await messages.find(asked, { projection: { _id: 1 } }).toArray()
        const known = new Set(found.map(({ _id }) => _id))
        return batch.map(() => known)
      },
      charactersOf: (ids) => ids.length * MAX_ID_CHARACTERS,
      gatherMs: GATHER_MS,
      atOnce: 1,
    }),
    insert: group<ToStore, StoreResult>({
      work: insertAll,
      charactersOf: (message) => message.characters(),
      gatherMs: GATHER_MS,
      atOnce: 1,
    }),
  }
}
