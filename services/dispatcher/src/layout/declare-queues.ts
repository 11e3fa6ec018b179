import {
  announceSlots,
  connectEarlierKeys,
  connectLayout,
  declareLayout,
} from '@parley/shared/messaging/layout'
import { declareCampaignEvents, declareDispatcherTopology } from '@parley/shared/messaging/topology'
import type { Channel } from 'amqplib'
import { declareEventQueue } from '../outgoing/consume-changes.ts'
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
    await declareCampaignEvents(channel)
    await ready
    await declareLayouts(channel, layout)
  }
}

/** A layout that was read is at most so old when slots are made to lead to it; milliseconds. */
const FRESH_MS = 3_000

/**
 * Declares the queues of the layouts that are in use, and has slots lead to the present one. Once the next one is
 * requested, that is up to whoever carries the change out: slots that led to replaced queues again would have later
 * messages pass those that reached the next queues alone.
 */
async function declareLayouts(channel: Channel, read: () => Promise<LayoutRecord>): Promise<void> {
  let layout = await read()
  for (;;) {
    for (const one of layoutsInUse(layout)) await declareLayout(channel, one)
    const declared = connectedLayout(layout)
    const askedAt = performance.now()
    layout = await read()
    const isFresh = performance.now() - askedAt < FRESH_MS
    if (isFresh && connectedLayout(layout).generation === declared.generation) break
  }
  if (layout.change?.phase === 'requested') return
  await connectLayout(channel, connectedLayout(layout))
  if (layout.isAnnounced === true) await announceSlots(channel)
  if (layout.earlierKeys === true && layout.change === undefined) await connectEarlierKeys(channel)
}
