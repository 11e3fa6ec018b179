import type { MessageRecord } from './message-record.ts'

/** The clocks of instances differ by less; one that is further ahead is wrong. */
export const CLOCKS_MS = 10_000

/**
 * When a message is due (milliseconds since the epoch) that was written by a clock ahead of ours: as long after `now`
 * as it was to wait when it was written. The clock may have been set between the last attempt, which said when it is
 * due, and the write. Undefined where it waits for nothing, and where our clock agrees.
 */
export function dueOfClockAhead(
  { due, updatedAt, attempts }: Pick<MessageRecord, 'due' | 'updatedAt'> & { attempts: { at: Date }[] },
  now: number,
): number | undefined {
  if (due === undefined) return undefined
  const triedAt = attempts.at(-1)?.at.getTime() ?? 0
  const writtenAt = Math.max(updatedAt.getTime(), triedAt <= due.getTime() ? triedAt : 0)
  return writtenAt > now + CLOCKS_MS ? now + Math.max(0, due.getTime() - writtenAt) : undefined
}
