import { defined } from '@parley/shared/defined'
import { insertNew } from '@parley/shared/insert-new'
import type { AuditedMessage } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import type { Times } from '../times.ts'
import { type EmptySlots, locate, type Places, placed } from './locate.ts'
import type { LogEntry } from './read-log.ts'

interface AuditEntriesOptions extends Places {
  collections: Pick<Collections, 'messages' | 'rejected' | 'audited'>
  emptySlots: EmptySlots
  /** Ends early when the audit stops. */
  pause(milliseconds: number): Promise<void>
  active(): boolean
  times: Pick<Times, 'auditAgain'>
  now(): number
}

/**
 * Writes down, once for each id, where the messages of a batch of the log are. One that is not found is waited
 * for while the queue of its slot has anything: the queue comes before the store. Only then it is missing.
 * Rejects while MongoDB or the broker is unavailable; the same batch may be given again.
 */
export async function auditEntries(entries: LogEntry[], options: AuditEntriesOptions): Promise<void> {
  const { collections, emptySlots, pause, active, times, now } = options
  let left = [...new Map(entries.map((entry) => [entry.messageId, entry])).values()]
  let empty = new Map<number, Date>()
  while (active()) {
    const located = await locate(options, left)
    await insertNew(collections.audited, [...located.values()])
    left = left.filter(({ messageId }) => !located.has(messageId))
    if (left.every(({ slot }) => empty.has(slot))) break
    await pause(times.auditAgain)
    const at = new Date(now())
    const stillEmpty = await emptySlots(left.map(({ slot }) => slot))
    empty = new Map([...stillEmpty].map((slot) => [slot, empty.get(slot) ?? at]))
  }
  if (active())
    await insertNew(
      collections.audited,
      left.map((entry) => missing(entry, empty)),
    )
}

function missing(entry: LogEntry, empty: Map<number, Date>): AuditedMessage {
  const { slot, offset, acceptedAt } = entry
  const emptyAt = empty.get(slot)
  const trace = { slot, offset, acceptedAt, published: 0, ...defined({ emptyAt }) }
  return { ...placed(entry, 'missing'), trace }
}
