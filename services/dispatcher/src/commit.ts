import type { mongo } from 'mongoose'
import type { Collections } from './database.ts'
import type { MessageRecord, Progress } from './message-record.ts'

const MAX_BATCH = 200
const GATHER_MS = 2
const MAX_QUEUED = 10_000

interface Commit {
  id: string
  revision: number
  operation: mongo.AnyBulkWriteOperation<MessageRecord>
  resolve(committed: boolean): void
  reject(error: unknown): void
}

export interface Committer {
  /**
   * Writes the progress of a message that stands at `revision`, and makes it `revision + 1`; false when somebody
   * else has written since. Rejects when the database is away: then it is not known whether it was written, and
   * the same call may be made again.
   */
  commit(record: Pick<MessageRecord, '_id' | 'revision'>, progress: Progress): Promise<boolean>
}

const NEWS = 'statuses:'

/** The name under which a copy writes the provider's news. */
export const newsWriter = (copy: string): string => NEWS + copy
/** Whether the provider's news were written last. */
export const isNewsWriter = (writer: string | undefined): boolean => writer?.startsWith(NEWS) === true

const OPTIONAL = ['open', 'due', 'reason', 'fault', 'answer', 'expiresAt'] as const

/**
 * Group commit: what many threads write within 2 ms goes to MongoDB as one batch of up to 200, one batch at a
 * time, since single writes would hold the message path to a few hundred a second.
 */
export function createCommitter(messages: Collections['messages'], writer: string): Committer {
  const queue: Commit[] = []
  let flushing = false
  const flush = async () => {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
    while (queue.length > 0) await writeBatch(messages, queue.splice(0, MAX_BATCH), writer)
    flushing = false
  }
  return {
    commit({ _id, revision }, progress) {
      if (queue.length >= MAX_QUEUED) return Promise.reject(new Error('too many writes are queued'))
      return new Promise((resolve, reject) => {
        const operation = updateOf({ _id, revision, progress, writer })
        queue.push({ id: _id, revision: revision + 1, operation, resolve, reject })
        if (flushing) return
        flushing = true
        void flush()
      })
    },
  }
}

function updateOf(options: {
  _id: string
  revision: number
  progress: Progress
  writer: string
}): mongo.AnyBulkWriteOperation<MessageRecord> {
  const { _id, revision, progress, writer } = options
  const $unset: mongo.UpdateFilter<MessageRecord>['$unset'] = Object.fromEntries(
    OPTIONAL.filter((key) => progress[key] === undefined).map((key) => [key, '']),
  )
  return {
    updateOne: {
      // Our own write, made again because its answer was lost, must count as made.
      filter: { _id, $or: [{ revision }, { revision: revision + 1, writer }] },
      update: { $set: { ...progress, revision: revision + 1, writer, updatedAt: new Date() }, $unset },
    },
  }
}

async function writeBatch(messages: Collections['messages'], batch: Commit[], writer: string): Promise<void> {
  try {
    const operations = batch.map(({ operation }) => operation)
    const { matchedCount } = await messages.bulkWrite(operations, { ordered: false, ignoreUndefined: true })
    const written = matchedCount === batch.length ? undefined : await writtenBy(messages, batch, writer)
    for (const { id, resolve } of batch) resolve(written === undefined || written.has(id))
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}

/** The batch's messages that stand where the batch put them: the total alone doesn't say which ones matched. */
async function writtenBy(
  messages: Collections['messages'],
  batch: Commit[],
  writer: string,
): Promise<Set<string>> {
  const wanted = batch.map(({ id, revision }) => ({ _id: id, revision, writer }))
  const found = await messages.find({ $or: wanted }, { projection: { _id: 1 } }).toArray()
  return new Set(found.map(({ _id }) => _id))
}
