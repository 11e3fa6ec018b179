import type { MessageRecord } from '../message/message-record.ts'
import type { WaitingFor } from '../message/waiting-for.ts'

/** What becomes of a thread after its head was run. */
export type RunResult =
  /** The head has reached an end; the next message may run. */
  | { kind: 'closed' }
  /** The head is to be run again at this time (milliseconds since the epoch). */
  | { kind: 'wait'; record: MessageRecord; until: number; for?: WaitingFor }
  /** What is in memory may be out of date: read the thread anew at this time. */
  | { kind: 'reload'; at: number; for?: WaitingFor }
  /** The head waits in a lane of its own, to be run again at this time; the next message may run. */
  | { kind: 'left'; lane: string; at: number; for?: WaitingFor }

/** The result for a thread whose head may have gone into a lane of its own. */
export function resultInLane(record: MessageRecord, lane: string | undefined, result: RunResult): RunResult {
  if (lane === undefined || lane === record.lane) return result
  if (result.kind !== 'wait' && result.kind !== 'reload') return result
  const { for: waitingFor = 'retry' } = result
  return { kind: 'left', lane, at: result.kind === 'wait' ? result.until : result.at, for: waitingFor }
}
