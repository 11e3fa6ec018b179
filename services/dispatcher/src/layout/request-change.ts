import type { Collections } from '../store/collections.ts'
import { LAYOUT_ID, type LayoutRecord, readLayout } from '../store/layout-record.ts'

/** Why a change was not requested. */
export class ChangeRefused extends Error {}

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

/** Whether nothing of a change is left to be done. */
export const isSettled = ({ change, previous }: LayoutRecord): boolean =>
  change === undefined && previous === undefined
