import type { Collections } from '../store/collections.ts'
import { lostBefore } from './trace-missing.ts'

const QUERY_MS = 2_000
const MAX_MISSING = 10_000
const MAX_LOST = 1_000

/**
 * How many accepted messages of a workspace are nowhere, 1,000 at most, among the 10,000 that have been looked for
 * longest.
 */
export async function countLostMessages(
  audited: Collections['audited'],
  { workspace, now }: { workspace: number; now: number },
): Promise<number> {
  const [found] = await audited
    .aggregate<{ lost: number }>(
      [
        { $match: { workspace, place: 'missing' } },
        { $sort: { hour: 1 } },
        { $limit: MAX_MISSING },
        { $match: lostBefore(now) },
        { $limit: MAX_LOST },
        { $count: 'lost' },
      ],
      { maxTimeMS: QUERY_MS },
    )
    .toArray()
  return found?.lost ?? 0
}
