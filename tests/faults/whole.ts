import type { Posted } from '@parley/local/demo/post-threads'
import type { Arrival } from '@parley/local/demo/watch-simulator'

/** From its first post to its arrival, a message that takes longer is late. */
export const LATE_MS = 3_000

/**
 * How long after a fault the last late message arrived, in milliseconds: from then on delivery was whole again. 0 when
 * none was late. Messages that never arrived are left out: they are lost. `struckAt` is in milliseconds since the epoch.
 */
export function untilWhole(options: {
  posted: readonly Posted[]
  received: readonly Arrival[]
  struckAt: number
}): number {
  const { posted, received, struckAt } = options
  const receivedAt = new Map<string, number>()
  for (const { thread, sequence, at } of received.toReversed()) receivedAt.set(`${thread}:${sequence}`, at)
  const late = posted.flatMap(({ thread, sequence, postedAt }) => {
    const at = receivedAt.get(`${thread}:${sequence}`)
    return at !== undefined && at - postedAt > LATE_MS && at > struckAt ? [at - struckAt] : []
  })
  return late.reduce((longest, ms) => Math.max(longest, ms), 0)
}
