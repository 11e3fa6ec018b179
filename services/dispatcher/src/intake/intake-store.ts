import { group } from '@parley/shared/group'
import { insertNew } from '@parley/shared/insert-new'
import type { Log } from '@parley/shared/log'
import type { MessageRecord } from '../message/message-record.ts'
import type { Collections } from '../store/collections.ts'
import { createReadList } from '../store/read-list.ts'
import type { RecentlyStored } from '../store/recently-stored.ts'

const RETRY_MS = 500
const MAX_ID_CHARACTERS = 128
// All that may be in flight of ten partitions, so that nobody's lookup takes a second turn.
const MAX_LOOKUPS = 1_000
const LOOKUPS_AT_ONCE = 2
/** Inserts that collect while a statement runs go with the next, instead of half of them with the one after. */
const MAX_INSERTS = 400
const THREADS_AT_ONCE = 16
const QUERY_MS = 10_000

/** A message that is to be stored. */
interface ToStore {
  /** True while this instance is the one to store them. */
  isLeased(): boolean
  /** How long its texts are at the moment. */
  characters(): number
  /** The message as it is now; from here on it changes in the store alone. */
  begin(): MessageRecord
}

/** The result for a message: inserted by us, in the store already, or left to the present owner of the lease. */
export type StoreResult = 'stored' | 'known' | 'abandoned'

/**
 * How the partitions of an instance look up and store what arrives: together, since a statement costs more than its
 * share.
 */
export interface IntakeStore {
  /** Those of the ids that are in the store. Rejects while the database is unavailable. */
  known(ids: string[]): Promise<Set<string>>
  /** Stores a message, those given first before the others; retries while the lease is valid. */
  insert(message: ToStore): Promise<StoreResult>
  /** The first open messages of a thread in a partition, at most `limit`. Rejects while the database is unavailable. */
  open(
    thread: Pick<MessageRecord, 'partition' | 'workspace' | 'thread' | 'lane'>,
    limit: number,
  ): Promise<MessageRecord[]>
}

export function createIntakeStore(options: {
  messages: Collections['messages']
  recentlyStored: Pick<RecentlyStored, 'note'>
  log: Log
}): IntakeStore {
  const { messages } = options
  const readThread = createReadList<MessageRecord>(messages, {
    listsAtOnce: THREADS_AT_ONCE,
    queryMs: QUERY_MS,
  })
  return {
    open: ({ partition, workspace, thread, lane }, limit) =>
      readThread({
        match: { partition, workspace, thread, lane: lane ?? { $exists: false }, open: true },
        sort: { order: 1 },
        limit,
      }),
    known: group<string[], Set<string>>({
      work: async (batch) => {
        const found = await messages
          .find({ _id: { $in: batch.flat() } }, { projection: { _id: 1 } })
          .toArray()
        const known = new Set(found.map(({ _id }) => _id))
        return batch.map(() => known)
      },
      charactersOf: (ids) => ids.length * MAX_ID_CHARACTERS,
      maxItems: MAX_LOOKUPS,
      atOnce: LOOKUPS_AT_ONCE,
    }),
    insert: group<ToStore, StoreResult>({
      work: (batch) => insertAll(options, batch),
      charactersOf: (message) => message.characters(),
      maxItems: MAX_INSERTS,
      atOnce: 1,
    }),
  }
}

/** A message whose insert has begun is inserted as it was then, however often that is tried. */
async function insertAll(
  { messages, recentlyStored, log }: Parameters<typeof createIntakeStore>[0],
  batch: ToStore[],
): Promise<StoreResult[]> {
  const begun = new Map<ToStore, MessageRecord>()
  for (;;) {
    for (const message of batch) {
      if (!message.isLeased()) begun.delete(message)
      else if (!begun.has(message)) begun.set(message, message.begin())
    }
    if (begun.size === 0) return batch.map(() => 'abandoned')
    try {
      const stored = new Set((await storeBatch(messages, [...begun.values()])).stored)
      for (const record of stored) recentlyStored.note(record)
      return batch.map((message) => resultOf(begun.get(message), stored))
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      log.warn({ reason }, 'messages not stored yet: MongoDB is unavailable')
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

function resultOf(record: MessageRecord | undefined, stored: Set<MessageRecord>): StoreResult {
  if (record === undefined) return 'abandoned'
  return stored.has(record) ? 'stored' : 'known'
}

/**
 * Inserts a batch. `stored` are those that this batch brought in, also when an earlier attempt with the same
 * batch did so and its answer was lost: the stored one has the same order and the same revision. `known` are open
 * messages that were stored otherwise. Rejects when not all of them are known to be safe; the same batch may then
 * be given again.
 */
export async function storeBatch(
  messages: Collections['messages'],
  records: MessageRecord[],
): Promise<{ stored: MessageRecord[]; known: MessageRecord[] }> {
  if (records.length === 0) return { stored: [], known: [] }
  const duplicates = await insertNew(messages, records)
  if (duplicates.length === 0) return { stored: records, known: [] }
  const ids = duplicates.map(({ _id }) => _id)
  const earlier = await messages.find({ _id: { $in: ids } }, { projection: { body: 0 } }).toArray()
  const inStore = new Map(earlier.map((record) => [record._id, record]))
  const repeated = new Set(duplicates)
  const isOurs = (record: MessageRecord) => isSame(record, inStore.get(record._id))
  const ours = new Set(duplicates.filter(isOurs).map(({ _id }) => _id))
  return {
    stored: records.filter((record) => !repeated.has(record) || isOurs(record)),
    known: earlier.filter(({ _id, open }) => open === true && !ours.has(_id)),
  }
}

function isSame(record: MessageRecord, inStore: MessageRecord | undefined): boolean {
  return inStore?.order === record.order && inStore.revision === record.revision
}
