import type { MessageRecord } from './message-record.ts'

/** The clocks of instances differ by less; one that is further ahead is wrong. */
export const CLOCKS_MS = 10_000

/**
 * When a message is due (milliseconds since the epoch) that was written by a clock ahead of ours: as long after `now`
 * as it was to wait when it was written. Undefined where it waits for nothing, and where our clock agrees.
 */
export function dueOfClockAhead(
  { due, updatedAt }: Pick<MessageRecord, 'due' | 'updatedAt'>,
  now: number,
): number | undefined {
  if (due === undefined || updatedAt.getTime() <= now + CLOCKS_MS) return undefined
  return now + Math.max(0, due.getTime() - updatedAt.getTime())
}
