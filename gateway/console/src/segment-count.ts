import { call } from './api.ts'
import type { SegmentFilter } from './segments.ts'

/** How many people a filter finds, of those that may be read. */
export async function countOf(filter: SegmentFilter, signal?: AbortSignal): Promise<number> {
  const { count } = await call<{ count: number }>('POST', '/rest/segments/count', {
    body: { filter },
    signal,
  })
  return count
}
