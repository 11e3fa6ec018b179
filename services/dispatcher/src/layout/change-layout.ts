import { every } from '@parley/shared/every'
import { createLease } from '@parley/shared/lease'
import type { Log } from '@parley/shared/log'
import type { Broker } from '@parley/shared/messaging/connection'
import {
  announceSlots,
  connectLayout,
  declareLayout,
  disconnectLayout,
  layoutExchange,
  QUEUE_END_TYPE,
  slotKey,
} from '@parley/shared/messaging/layout'
import type { Publisher } from '@parley/shared/messaging/publisher'
import type { mongo } from 'mongoose'
import type { Collections } from '../store/collections.ts'
import {
  LAYOUT_ID,
  type LayoutChange,
  type LayoutRecord,
  nextLayout,
  readLayout,
} from '../store/layout-record.ts'
import { hasEarlierInstances } from '../store/lease-store.ts'
import { deleteQueues } from './delete-queues.ts'
import { moveMessages, openNext } from './move-messages.ts'

/** Why a change was not requested. */
export class ChangeRefused extends Error {}

/** True if a change is complete. */
export const isSettled = ({ change, previous }: LayoutRecord): boolean =>
  change === undefined && previous === undefined

const LEASE_MS = 10_000
const TICK_MS = 1_000
const SHORT_TICK_MS = 250
/** Messages on the way to a queue while slots still led to it have arrived after this many milliseconds, on any node. */
const SETTLE_MS = 1_000
/** Until then whoever read the layout before the change was requested has had slots lead to it, or reads it anew. */
const REQUEST_KNOWN_MS = 8_000
/** Whoever takes a partition over needs an end of its queue of its own. */
const END_AGAIN_MS = 2_000

interface ChangeOptions {
  collections: Pick<Collections, 'layouts' | 'partitions' | 'messages' | 'instances'>
  startSession(): mongo.ClientSession
  broker: Pick<Broker, 'withChannel'>
  publisher: Pick<Publisher, 'publish'>
  instance: string
  /** How many partitions a system that is first started would get by the environment. */
  configured: number
  log: Log
}

/**
 * Carries out changes of the number of partitions, in one instance at a time. What is done is written down after each
 * step, and each step may be done again, so whoever has the lease next goes on where the last one stopped.
 */
export function startLayoutChanges(options: ChangeOptions): { stop(): Promise<void> } {
  const { collections, instance, log } = options
  const { layouts } = collections
  const lease = createLease<LayoutRecord>({
    collection: () => layouts,
    _id: LAYOUT_ID,
    owner: instance,
    leaseMs: LEASE_MS,
  })
  let stopped = false
  const renew = async () => !stopped && (await lease.acquire())
  const steps = createSteps({ ...options, isActive: lease.isValid, renew })
  let tickMs = TICK_MS
  let isCompared = false
  const compare = ({ partitions }: LayoutRecord) => {
    if (!isCompared && partitions !== options.configured)
      log.info(
        { partitions, configured: options.configured },
        'PARTITIONS counts when a system is first started: change-partitions.ts changes their number now',
      )
    isCompared = true
  }
  const loop = every({
    pauseMs: () => tickMs,
    run: async () => {
      const layout = await readLayout(layouts)
      compare(layout)
      const isSettled = steps.of(layout) === undefined
      tickMs = isSettled ? TICK_MS : SHORT_TICK_MS
      // Read anew: another instance may have gone on before the lease was ours.
      if (!isSettled && (await renew())) await steps.of(await readLayout(layouts))?.()
    },
    failed: ({ message }) => log.warn({ reason: message }, 'the partitions are not as they should be yet'),
  })
  return {
    async stop() {
      stopped = true
      await loop.stop()
      await lease.release().catch(() => {})
    },
  }
}

function createSteps(options: ChangeOptions & { isActive(): boolean; renew(): Promise<boolean> }) {
  const { collections, broker, publisher, log } = options
  const { layouts, partitions } = collections
  const endsPublishedAt = new Map<number, number>()
  /** When the request to replace a generation was first seen here. */
  const requestSeenAt = new Map<number, number>()
  /** By the monotonic clock of this instance: whoever began to drain may have had another time. */
  const drainSeenAt = new Map<number, number>()
  const write = async (layout: LayoutRecord, update: mongo.UpdateFilter<LayoutRecord>) => {
    const { _id, generation, change } = layout
    const phase = change === undefined ? { change: { $exists: false } } : { 'change.phase': change.phase }
    await layouts.updateOne({ _id, generation, ...phase }, update)
  }
  let isWaiting = false
  /** A change that instances of an earlier version would not know of waits until all of those are gone. */
  const hasToWait = async () => {
    const earlier = await hasEarlierInstances(collections)
    if (earlier && !isWaiting) log.info('waiting until the dispatchers of an earlier version are gone')
    isWaiting = earlier
    return earlier
  }
  const announce = async (layout: LayoutRecord) => {
    if (await hasToWait()) return
    await broker.withChannel(async (channel) => {
      await declareLayout(channel, layout)
      if (options.isActive()) await connectLayout(channel, layout)
      await announceSlots(channel)
    })
    await write(layout, { $set: { isAnnounced: true } })
  }
  const replaceQueues = async (layout: LayoutRecord, change: LayoutChange) => {
    const { generation } = layout
    const now = performance.now()
    const seenAt = requestSeenAt.get(generation) ?? now
    requestSeenAt.set(generation, seenAt)
    if (layout.isAnnounced !== true) return announce(layout)
    if (now - seenAt < REQUEST_KNOWN_MS || (await hasToWait())) return
    const next = nextLayout(layout, change)
    await broker.withChannel(async (channel) => {
      await declareLayout(channel, next)
      // In between it reaches both, and the store knows what it has by its id.
      if (options.isActive()) await connectLayout(channel, next)
      if (options.isActive()) await disconnectLayout(channel, layout)
    })
    if (!options.isActive()) return
    await write(layout, { $set: { 'change.phase': 'draining', 'change.switchedAt': new Date() } })
    log.info({ partitions: next.partitions }, 'messages go to the queues of the next partitions')
  }
  const drain = async (layout: LayoutRecord) => {
    const now = performance.now()
    const seenAt = drainSeenAt.get(layout.generation) ?? now
    drainSeenAt.set(layout.generation, seenAt)
    if (now - seenAt < SETTLE_MS) return
    const left = await partitions.find({ drained: { $ne: true } }, { projection: { _id: 1 } }).toArray()
    if (left.length === 0) return write(layout, { $set: { 'change.phase': 'moving' } })
    const due = left.filter(({ _id }) => now - (endsPublishedAt.get(_id) ?? -END_AGAIN_MS) >= END_AGAIN_MS)
    for (const { _id } of due) endsPublishedAt.set(_id, now)
    await Promise.all(due.map(({ _id }) => publishEnd(publisher, layout, _id)))
  }
  const move = async (layout: LayoutRecord, change: LayoutChange) => {
    await moveMessages(options, layout, change)
    const moved = await openNext(options, layout, change)
    endsPublishedAt.clear()
    const ms = Date.now() - (change.switchedAt?.getTime() ?? 0)
    log.info({ partitions: change.partitions, moved, ms }, 'the number of partitions has changed')
  }
  const work = { requested: replaceQueues, draining: drain, moving: move }
  return {
    /** Returns the next step of the change; undefined when the layout is complete. */
    of(layout: LayoutRecord): (() => Promise<unknown>) | undefined {
      const { change, previous } = layout
      if (previous !== undefined)
        return async () => {
          await deleteQueues({ broker, publisher }, { previous, present: layout })
          await write(layout, { $unset: { previous: '' } })
        }
      if (change !== undefined) return () => work[change.phase](layout, change)
      return layout.isAnnounced === true ? undefined : () => announce(layout)
    },
  }
}

/** A partition's number is also that of a slot which leads to it. */
function publishEnd(
  publisher: Pick<Publisher, 'publish'>,
  layout: LayoutRecord,
  partition: number,
): Promise<void> {
  return publisher.publish({
    exchange: layoutExchange(layout),
    routingKey: slotKey(partition),
    messageId: `end-${layout.generation}-${partition}`,
    type: QUEUE_END_TYPE,
    body: Buffer.from('{}'),
    mandatory: true,
  })
}

/**
 * Requests a change of the number of partitions, which the dispatchers then carry out. Resolves with the layout as it was;
 * one that has that number already, or is on its way to it, stays as it is. Throws {@link ChangeRefused} while another
 * change is under way.
 */
export async function requestChange(
  { layouts }: Pick<Collections, 'layouts'>,
  partitions: number,
): Promise<LayoutRecord> {
  const layout = await readLayout(layouts)
  if (layout.change?.partitions === partitions) return layout
  if (layout.change === undefined && layout.partitions === partitions) return layout
  const requested = await layouts.updateOne(
    {
      _id: LAYOUT_ID,
      generation: layout.generation,
      change: { $exists: false },
      previous: { $exists: false },
    },
    { $set: { change: { partitions, phase: 'requested', requestedAt: new Date(), moved: 0 } } },
  )
  if (requested.matchedCount === 0)
    throw new ChangeRefused('Another change is under way: try again when it is over.')
  return layout
}
