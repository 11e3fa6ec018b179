import { partitionOfSlot, slotOf } from '@parley/shared/messaging/layout'
import { inTransaction } from '@parley/shared/transaction'
import type { mongo } from 'mongoose'
import type { MessageRecord } from '../message/message-record.ts'
import type { Collections } from '../store/collections.ts'
import { type LayoutChange, type LayoutRecord, nextLayout } from '../store/layout-record.ts'

const BATCH = 1_000
/** Publishers have clocks of their own. */
const CLOCKS_MS = 5_000

interface MoveOptions {
  collections: Pick<Collections, 'layouts' | 'partitions' | 'messages'>
  startSession(): mongo.ClientSession
  /** Renews the lease of the change; false when another instance has it. */
  renew(): Promise<boolean>
}

type Open = Pick<MessageRecord, '_id' | 'workspace' | 'thread' | 'partition'>

/**
 * Gives the open messages to the partitions of the next layout, in batches, while no instance works any. Each batch is a
 * transaction that also writes to the layout: one that stood still cannot go on once the change is over.
 */
export async function moveMessages(
  options: MoveOptions,
  layout: LayoutRecord,
  change: LayoutChange,
): Promise<void> {
  const next = nextLayout(layout, change)
  const found = options.collections.messages
    .find({ partition: { $gte: 0 }, open: true }, { batchSize: BATCH })
    .project<Open>({ workspace: 1, thread: 1, partition: 1 })
  let moving: (Open & { to: number })[] = []
  for await (const message of found) {
    const to = partitionOfSlot(slotOf(message.workspace, message.thread), next)
    if (to !== message.partition) moving.push({ ...message, to })
    if (moving.length < BATCH) continue
    await moveBatch(options, layout, moving)
    moving = []
  }
  if (moving.length > 0) await moveBatch(options, layout, moving)
}

async function moveBatch(
  options: MoveOptions,
  layout: LayoutRecord,
  batch: (Open & { to: number })[],
): Promise<void> {
  if (!(await options.renew())) throw new Error('the lease is gone')
  const { layouts, messages } = options.collections
  const updates = [...Map.groupBy(batch, ({ to }) => to)].map(([partition, ofPartition]) => ({
    updateMany: {
      filter: { _id: { $in: ofPartition.map(({ _id }) => _id) } },
      update: { $set: { partition } },
    },
  }))
  await inTransaction(options, async (session) => {
    const moved = { $inc: { 'change.moved': batch.length } }
    const { matchedCount } = await layouts.updateOne(underChange(layout), moved, { session })
    if (matchedCount === 0) throw new Error('another instance has carried the change out')
    await messages.bulkWrite(updates, { session, ordered: false })
  })
}

/**
 * Makes the next layout the present one, with leases of its own. Their terms begin with the highest there was: a thread's
 * sequence numbers go on growing in whatever partition it is. Returns how many messages were moved.
 */
export async function openNext(
  options: MoveOptions,
  layout: LayoutRecord,
  change: LayoutChange,
): Promise<number> {
  const { layouts, partitions } = options.collections
  const next = nextLayout(layout, change)
  const { generation } = layout
  return inTransaction(options, async (session) => {
    const opened = await layouts.findOneAndUpdate(
      underChange(layout),
      {
        $set: { ...next, previous: { generation, partitions: layout.partitions } },
        $unset: { change: '', earlierKeys: '' },
      },
      { session },
    )
    if (opened === null) throw new Error('another instance has carried the change out')
    const leases = await partitions.find({}, { session }).toArray()
    const term = Math.max(...leases.map((lease) => lease.term))
    const repeatsUntil = new Date((change.switchedAt?.getTime() ?? Date.now()) + CLOCKS_MS)
    const free = { owner: null, term, expiresAt: new Date(0), generation: next.generation, repeatsUntil }
    await partitions.deleteMany({ _id: { $gte: next.partitions } }, { session })
    await partitions.bulkWrite(
      Array.from({ length: next.partitions }, (_, _id) => ({
        updateOne: {
          filter: { _id },
          update: { $set: free, $unset: { drained: '' as const, threads: '' as const } },
          upsert: true,
        },
      })),
      { session },
    )
    return opened.change?.moved ?? 0
  })
}

const underChange = ({ _id, generation }: LayoutRecord) => ({
  _id,
  generation,
  'change.phase': 'moving' as const,
})
