import type { Broker } from '@parley/shared/messaging/connection'
import { partitionQueue } from '@parley/shared/messaging/topology'
import { type AuditedMessage, hourOf } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import type { LogEntry } from './read-log.ts'

type Located = Omit<AuditedMessage, 'trace'>
type Sought = Pick<LogEntry, 'messageId' | 'workspace' | 'channel' | 'acceptedAt'>

/** Looks for accepted messages in the store, and for the rest among the rejected ones: one question each. */
export async function locate(
  { messages, rejected }: Pick<Collections, 'messages' | 'rejected'>,
  sought: Sought[],
): Promise<Map<string, Located>> {
  const stored = await messages
    .find({ _id: { $in: sought.map(({ messageId }) => messageId) } })
    .project<{ _id: string; workspace: number; channel: string; receivedAt: Date }>({
      workspace: 1,
      channel: 1,
      receivedAt: 1,
    })
    .toArray()
  const located = new Map<string, Located>(
    stored.map(({ receivedAt, ...rest }) => [
      rest._id,
      { ...rest, hour: hourOf(receivedAt), place: 'stored' },
    ]),
  )
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

/** Which partitions have nothing waiting at the broker at this moment. Rejects while the broker is unavailable. */
export type EmptyQueues = (partitions: Iterable<number>) => Promise<Set<number>>

/** Asks the broker how many messages wait in the queues of partitions. */
export function emptyQueuesOf(broker: Pick<Broker, 'withChannel'>): EmptyQueues {
  return (partitions) =>
    broker.withChannel(async (channel) => {
      const empty = new Set<number>()
      for (const partition of new Set(partitions)) {
        const { messageCount } = await channel.checkQueue(partitionQueue(partition))
        if (messageCount === 0) empty.add(partition)
      }
      return empty
    })
}
