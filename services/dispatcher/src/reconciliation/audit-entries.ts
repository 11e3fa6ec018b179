import { defined } from '@parley/shared/defined'
import { insertNew } from '@parley/shared/insert-new'
import type { AuditedMessage } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import type { EmptyQueues } from './locate.ts'
import { locate, placed } from './locate.ts'
import type { LogEntry } from './read-log.ts'

const LOOK_AGAIN_MS = 1_000

interface AuditEntriesOptions {
  collections: Pick<Collections, 'messages' | 'rejected' | 'audited'>
  emptyQueues: EmptyQueues
  /** Ends early when the audit stops. */
  pause(milliseconds: number): Promise<void>
  active(): boolean
  now(): number
}

/**
 * Writes down, once for each id, where the messages of a batch of the log are. One that is not found is waited
 * for while its partition has anything queued: the queue comes before the store. Only then it is missing.
 * Rejects while MongoDB or the broker is unavailable; the same batch may be given again.
 */
export async function auditEntries(entries: LogEntry[], options: AuditEntriesOptions): Promise<void> {
  const { collections, emptyQueues, pause, active, now } = options
  let left = [...new Map(entries.map((entry) => [entry.messageId, entry])).values()]
  let empty = new Map<number, Date>()
  while (active()) {
    const located = await locate(collections, left)
    await insertNew(collections.audited, [...located.values()])
    left = left.filter(({ messageId }) => !located.has(messageId))
    if (left.every(({ partition }) => empty.has(partition))) break
    await pause(LOOK_AGAIN_MS)
    const at = new Date(now())
    const stillEmpty = await emptyQueues(left.map(({ partition }) => partition))
    empty = new Map([...stillEmpty].map((partition) => [partition, empty.get(partition) ?? at]))
  }
  if (active())
    await insertNew(
      collections.audited,
      left.map((entry) => missing(entry, empty)),
    )
}

function missing(entry: LogEntry, empty: Map<number, Date>): AuditedMessage {
  const { partition, offset, acceptedAt } = entry
  const emptyAt = empty.get(partition)
  const trace = { partition, offset, acceptedAt, published: 0, ...defined({ emptyAt }) }
  return { ...placed(entry, 'missing'), trace }
}
