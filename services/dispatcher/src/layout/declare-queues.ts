import {
  announceSlots,
  connectEarlierKeys,
  connectLayout,
  declareLayout,
  disconnectLayout,
} from '@parley/shared/messaging/layout'
import { declareDispatcherTopology } from '@parley/shared/messaging/topology'
import type { Channel } from 'amqplib'
import { declareEventQueue } from '../events/consume-changes.ts'
import { declareChangeQueues } from '../replica/follow-changes.ts'
import { connectedLayout, type LayoutRecord, layoutsInUse } from '../store/layout-record.ts'

/** Declares all that an instance consumes and publishes to, once the database is `ready`: it says which partitions there are. */
export function declareQueues(options: {
  instance: string
  ready: Promise<void>
  layout(): Promise<LayoutRecord>
}): (channel: Channel) => Promise<void> {
  const { instance, ready, layout } = options
  return async (channel) => {
    await declareDispatcherTopology(channel)
    await declareChangeQueues(channel, instance)
    await declareEventQueue(channel)
    await ready
    await declareLayouts(channel, layout)
  }
}

/**
 * Declares the queues of the layouts that are in use, and has slots lead to them. A change that goes on meanwhile is
 * followed: otherwise slots could lead to queues again that it has just replaced.
 */
async function declareLayouts(channel: Channel, read: () => Promise<LayoutRecord>): Promise<void> {
  let layout = await read()
  for (;;) {
    await declareAsOf(channel, layout)
    const now = await read()
    const [declared, connected] = [layout, now].map(connectedLayout)
    if (declared?.generation === connected?.generation) return
    if (declared !== undefined) await disconnectLayout(channel, declared)
    layout = now
  }
}

async function declareAsOf(channel: Channel, layout: LayoutRecord): Promise<void> {
  for (const one of layoutsInUse(layout)) await declareLayout(channel, one)
  const connected = connectedLayout(layout)
  await connectLayout(channel, connected)
  if (layout.isAnnounced === true) await announceSlots(channel)
  if (layout.earlierKeys === true && connected.generation === 1) await connectEarlierKeys(channel)
}
