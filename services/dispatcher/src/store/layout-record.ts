import type { LeasedDocument } from '@parley/shared/lease'
import { type Layout, partitionOfSlot, slotOf } from '@parley/shared/messaging/layout'
import type { mongo } from 'mongoose'
import type { ThreadName, ThreadRecord } from '../message/thread-record.ts'

export const LAYOUT_ID = 'messages'

/** How many partitions there are, and what is under way to change that. Its lease is that of whoever carries it out. */
export interface LayoutRecord extends LeasedDocument, Layout {
  _id: typeof LAYOUT_ID
  /** Webhooks know that slots lead to it. */
  isAnnounced?: boolean
  /** Messages that versions without slots publish lead to it, too. */
  earlierKeys?: boolean
  change?: LayoutChange
  /** The one before, until its queues are deleted. */
  previous?: Layout
}

/** A change to the next generation. */
export interface LayoutChange {
  partitions: number
  /**
   * - `requested`: the queues of the next generation are declared; then slots lead to them, and no longer to the present ones.
   * - `draining`: the present queues are consumed until they are empty, and their leases are given up.
   * - `moving`: the open messages go to their next partitions; then the leases of the next generation may be taken.
   */
  phase: 'requested' | 'draining' | 'moving'
  requestedAt: Date
  /** When slots led to the next generation alone. */
  switchedAt?: Date
  /** Messages that went to another partition. */
  moved: number
}

export type Layouts = Pick<mongo.Collection<LayoutRecord>, 'findOne'>

/** Rejects while the database is unavailable. */
export async function readLayout(layouts: Layouts): Promise<LayoutRecord> {
  const layout = await layouts.findOne({ _id: LAYOUT_ID })
  if (layout === null) throw new Error('the database has no layout')
  return layout
}

/** The layout that a change leads to. */
export const nextLayout = (
  { generation }: Layout,
  { partitions }: Pick<LayoutChange, 'partitions'>,
): Layout => ({
  generation: generation + 1,
  partitions,
})

/** The layout that slots lead to. */
export function connectedLayout(layout: LayoutRecord): Layout {
  const { change } = layout
  return change === undefined || change.phase === 'requested' ? layout : nextLayout(layout, change)
}

/** The layouts in whose queues a message may be that is accepted now. */
export function layoutsInUse(layout: LayoutRecord): Layout[] {
  const connected = connectedLayout(layout)
  return connected === layout ? [layout] : [layout, connected]
}

/** The partitions that the open messages of a thread, and of those that joined it, may be in at the moment. Rejects while the database is unavailable. */
export async function partitionsOfThread(
  layouts: Layouts,
  { workspace, extId, joined = [] }: Pick<ThreadName, 'workspace' | 'extId'> & Pick<ThreadRecord, 'joined'>,
): Promise<number[]> {
  const slots = [extId, ...joined].map((name) => slotOf(workspace, name))
  const inUse = layoutsInUse(await readLayout(layouts))
  return [...new Set(inUse.flatMap((layout) => slots.map((slot) => partitionOfSlot(slot, layout))))]
}
