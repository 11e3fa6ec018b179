import type { Admission } from '../channels/endpoints/endpoints.ts'
import { dueOfClockAhead } from '../message/due.ts'
import type { Progress } from '../message/message-record.ts'
import { postponed, waitsUntil } from '../message/progress.ts'
import type { MessageRun } from './message-run.ts'
import type { RunResult } from './thread-run.ts'

/**
 * Corrects when a message is due, where a clock that was ahead of ours has said so: it waits as long as was meant,
 * from now on. Throws Superseded.
 */
export function correctDue(run: MessageRun): Promise<void> | undefined {
  const now = run.options.now()
  const due = dueOfClockAhead(run.record, now)
  return due === undefined ? undefined : run.message.commitMerged((record) => waitsUntil(record, due))
}

/**
 * What may not be called now waits without being tried. Where that lasts longer, or others may pass it, the message
 * says so; not one whose send is uncertain, which waits by its own time.
 */
export async function waitForEndpoint(
  run: MessageRun,
  { until, for: waitingFor, reason }: Extract<Admission, { kind: 'wait' }>,
): Promise<RunResult> {
  if (run.record.answer !== undefined) await run.storeAnswer()
  const isUncertain = run.record.sends.some(({ state }) => state === 'claimed')
  const isSaid = run.record.waitingFor === waitingFor
  const isPassed = run.isPassable && run.record.lane === undefined
  if ((waitingFor === 'circuit_breaker' || isPassed) && !isUncertain && !isSaid) {
    const progress = letPass(run, postponed(run.record, { due: until, waitingFor, reason }))
    // One that others pass is read from the store when it is due.
    await run.message.commitUnderLease(progress, { deferrable: progress.lane === undefined })
  }
  return { kind: 'wait', record: run.record, until, for: waitingFor }
}

/** The progress, by which later messages pass one that waits, where its channel says so. */
export function letPass({ isPassable, record }: MessageRun, progress: Progress): Progress {
  const waits = isPassable && progress.due !== undefined
  return waits ? { ...progress, lane: record._id } : progress
}
