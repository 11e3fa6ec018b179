import { group } from '@parley/shared/group'
import { insertNew } from '@parley/shared/insert-new'
import type { MessageRecord } from '../message/message-record.ts'
import type { Collections } from '../store/collections.ts'
import { createReadList } from '../store/read-list.ts'
import type { RecentlyStored } from '../store/recently-stored.ts'

const GATHER_MS = 5
/** What arrived while a statement was worked goes with the next, instead of half of it with the one after. */
const MAX_INSERTS = 400
const INSERTS_AT_ONCE = 2
const THREADS_AT_ONCE = 16
const QUERY_MS = 10_000

/** What became of a message that was to be stored: inserted by us, or in the store already, where it may be open. */
type StoreResult = { kind: 'stored' } | { kind: 'known'; open?: EarlierMessage | undefined }

export type EarlierMessage = Pick<MessageRecord, '_id' | 'workspace' | 'thread' | 'lane' | 'takenOver'>

/** How the partitions of an instance store what arrives: together, since a statement costs more than its share. */
export interface IntakeStore {
  /**
   * Stores a message, those given first before the others. Rejects when it is not known whether it was stored: the same
   * may be given again, and counts as stored where it was.
   */
  insert(record: MessageRecord): Promise<StoreResult>
  /** The first open messages of a thread in a partition, at most `limit`. Rejects while the database is unavailable. */
  open(
    thread: Pick<MessageRecord, 'partition' | 'workspace' | 'thread' | 'lane'>,
    limit: number,
  ): Promise<MessageRecord[]>
}

export function createIntakeStore(options: {
  messages: Collections['messages']
  recentlyStored: Pick<RecentlyStored, 'note'>
}): IntakeStore {
  const { messages, recentlyStored } = options
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
    insert: group<MessageRecord, StoreResult>({
      work: async (batch) => {
        const { stored, known } = await storeBatch(messages, batch)
        const ours = new Set(stored)
        for (const record of stored) recentlyStored.note(record)
        const open = new Map(known.map((record) => [record._id, record]))
        return batch.map((record) =>
          ours.has(record) ? { kind: 'stored' } : { kind: 'known', open: open.get(record._id) },
        )
      },
      charactersOf: ({ body }) => body.length,
      maxItems: MAX_INSERTS,
      gatherMs: GATHER_MS,
      atOnce: INSERTS_AT_ONCE,
    }),
  }
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
