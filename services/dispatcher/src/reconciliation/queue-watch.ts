import { partitionQueue } from '@parley/shared/broker'
import type { PublishChannel } from '../broker/publish-channel.ts'

/** Which partitions have nothing waiting at the broker at this moment. Rejects while the broker is unavailable. */
export type EmptyQueues = (partitions: Iterable<number>) => Promise<Set<number>>

/** Asks the broker how many messages wait in the queues of partitions. */
export function emptyQueuesOf(publishChannel: Pick<PublishChannel, 'current'>): EmptyQueues {
  return async (partitions) => {
    const empty = new Set<number>()
    for (const partition of new Set(partitions)) {
      const channel = publishChannel.current()
      if (channel === undefined) throw new Error('the broker is away')
      if ((await channel.checkQueue(partitionQueue(partition))).messageCount === 0) empty.add(partition)
    }
    return empty
  }
}
