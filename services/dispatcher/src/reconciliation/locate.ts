import type { Broker } from '@parley/shared/messaging/connection'
import { partitionOfSlot, partitionQueue } from '@parley/shared/messaging/layout'
import { type AuditedMessage, hourOf } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import { layoutsInUse, readLayout } from '../store/layout-record.ts'
import type { RecentlyStored } from '../store/recently-stored.ts'
import type { LogEntry } from './read-log.ts'

type Located = Omit<AuditedMessage, 'trace'>
type Sought = Pick<LogEntry, 'messageId' | 'workspace' | 'channel' | 'acceptedAt'>

/** Where accepted messages may be. */
export interface Places {
  collections: Pick<Collections, 'messages' | 'rejected'>
  recentlyStored: Pick<RecentlyStored, 'find'>
}

/**
 * Looks for accepted messages among those that this instance has just stored, for the rest in the store, and for what is
 * left among the rejected ones: one question each.
 */
export async function locate(places: Places, sought: Sought[]): Promise<Map<string, Located>> {
  const { collections, recentlyStored } = places
  const { messages, rejected } = collections
  const known = sought.flatMap(({ messageId }) => recentlyStored.find(messageId) ?? [])
  const located = new Map<string, Located>(known.map((one) => [one._id, one]))
  if (located.size === sought.length) return located
  const stored = await messages
    .find({ _id: { $in: sought.flatMap(({ messageId }) => (located.has(messageId) ? [] : messageId)) } })
    .project<{ _id: string; workspace: number; channel: string; receivedAt: Date }>({
      workspace: 1,
      channel: 1,
      receivedAt: 1,
    })
    .toArray()
  for (const { receivedAt, ...rest } of stored)
    located.set(rest._id, { ...rest, hour: hourOf(receivedAt), place: 'stored' })
  const rest = new Map(
    sought.flatMap((entry) => (located.has(entry.messageId) ? [] : [[entry.messageId, entry]])),
  )
  if (rest.size === 0) return located
  const refused = await rejected
    .find({ _id: { $in: [...rest.keys()] } }, { projection: { _id: 1 } })
    .toArray()
  for (const { _id } of refused) {
    const entry = rest.get(_id)
    if (entry !== undefined) located.set(_id, placed(entry, 'rejected'))
  }
  return located
}

/** An accepted message at a place that is not the store. */
export function placed(entry: Sought, place: 'rejected' | 'missing'): Located {
  const { messageId, workspace, channel, acceptedAt } = entry
  return { _id: messageId, workspace, channel, hour: hourOf(acceptedAt), place }
}

/** Which slots have nothing waiting at the broker at this moment. Rejects while the broker or the store is unavailable. */
export type EmptySlots = (slots: Iterable<number>) => Promise<Set<number>>

/** Asks the broker how many messages wait in the queues that slots lead to. */
export function emptySlotsOf(
  broker: Pick<Broker, 'withChannel'>,
  { layouts }: Pick<Collections, 'layouts'>,
): EmptySlots {
  return async (slots) => {
    const inUse = layoutsInUse(await readLayout(layouts))
    const queuesOf = (slot: number) =>
      inUse.map((layout) => partitionQueue({ ...layout, partition: partitionOfSlot(slot, layout) }))
    const asked = new Set(slots)
    const queues = new Set([...asked].flatMap(queuesOf))
    return broker.withChannel(async (channel) => {
      const filled = new Set<string>()
      for (const queue of queues) if ((await channel.checkQueue(queue)).messageCount > 0) filled.add(queue)
      return new Set([...asked].filter((slot) => !queuesOf(slot).some((queue) => filled.has(queue))))
    })
  }
}
