import type { MessageRecord } from './message-record.ts'

/** What becomes of a thread after its head was run. */
export type RunResult =
  /** The head has reached an end; the next message may run. */
  | { kind: 'closed' }
  /** The head is to be run again at this time (milliseconds since the epoch). */
  | { kind: 'wait'; record: MessageRecord; until: number }
  /** What is held in memory may be out of date: read the thread anew at this time. */
  | { kind: 'reload'; at: number }
  /** The head waits in a lane of its own, to be run again at this time; the next message may run. */
  | { kind: 'left'; lane: string; at: number }

/** The result for a thread whose head may have gone into a lane of its own. */
export function beside(record: MessageRecord, lane: string | undefined, result: RunResult): RunResult {
  if (lane === undefined || lane === record.lane) return result
  if (result.kind === 'wait') return { kind: 'left', lane, at: result.until }
  return result.kind === 'reload' ? { kind: 'left', lane, at: result.at } : result
}
