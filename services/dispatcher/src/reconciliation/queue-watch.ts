import type { Broker } from '@parley/shared/messaging/connection'
import { partitionQueue } from '@parley/shared/messaging/topology'

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
