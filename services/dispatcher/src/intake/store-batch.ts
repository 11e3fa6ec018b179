import { mongo } from 'mongoose'
import type { MessageRecord } from '../message/message-record.ts'
import type { Collections } from '../store/collections.ts'

const DUPLICATE_KEY = 11_000

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
  const duplicates = await insert(messages, records)
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

/** Inserts what is not there yet and returns the rest. */
async function insert(messages: Collections['messages'], records: MessageRecord[]): Promise<MessageRecord[]> {
  try {
    await messages.insertMany(records, { ordered: false })
    return []
  } catch (error) {
    if (!(error instanceof mongo.MongoBulkWriteError)) throw error
    const failures = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors]
    const allAccountedFor = error.insertedCount + failures.length === records.length
    const durable = error.result.getWriteConcernError() === undefined
    // A lost connection comes as the same error, with nothing said of single documents.
    if (!allAccountedFor || !durable || failures.some(({ code }) => code !== DUPLICATE_KEY)) throw error
    return failures.flatMap(({ index }) => records[index] ?? [])
  }
}
