import type { Log } from '@parley/shared/log'
import { parseTraceparent } from '@parley/shared/tracing'
import type { MessageRecord, Progress } from '../message/message-record.ts'
import { CRASHED, type Outcome } from '../message/outcome.ts'
import { attemptOf, ended, type MessageEnd, settledSend, unsettled } from '../message/progress.ts'
import { isSettled } from '../message/send-state.ts'
import { settle, settleFailure } from '../message/settle.ts'
import { type Metrics, observeLatency } from '../metrics/metrics.ts'
import type { MessageRun } from './message-run.ts'
import type { Prepared } from './prepare.ts'
import type { RunResult } from './thread-run.ts'
import { letPass, waitUntilDue } from './wait.ts'
import { Superseded } from './written-message.ts'

const MAX_MERGES = 20

/** The result of a run, or that its next send follows. */
export type StepResult = RunResult | { kind: 'next' }

/** Commits the outcome of a send. Statuses of it that came meanwhile are merged: neither may undo the other. */
export async function settleSend(
  run: MessageRun,
  attempted: { index: number; outcome: Outcome; reports: boolean; ms: number },
): Promise<StepResult> {
  const { index, reports, ms } = attempted
  const { uncertainWindow, retentionMs, now } = run.options
  for (let merges = 0; merges < MAX_MERGES; merges++) {
    const { tries, sends } = run.record
    const at = now()
    const attempt = attemptOf({ step: sends[index]?.id ?? '', outcome: attempted.outcome, at, ms })
    const outcome: Outcome = isSettled(sends[index])
      ? { kind: 'accepted', delivered: false }
      : attempted.outcome
    const settlement = settle({ outcome, tries, reports, uncertainWindow })
    const progress =
      settlement.kind === 'settled'
        ? settledSend(run.record, { index, settlement, attempt, at, retentionMs })
        : letPass(run, unsettled(run.record, { index, settlement, attempt, at, retentionMs }))
    const deferrable = settlement.kind === 'settled'
    if (await run.message.commitFact(progress, { deferrable })) return resultAfter(run, progress)
    await run.message.mergeStatuses()
  }
  throw new Superseded()
}

/** Commits that the message's handler or one of its functions failed. */
export async function settleFailed(
  run: MessageRun,
  failed: Omit<Extract<Prepared, { kind: 'failed' }>, 'kind' | 'channel'>,
): Promise<RunResult> {
  const { retentionMs, now } = run.options
  const at = now()
  const attempt = attemptOf({ ...failed, at })
  const settlement = settleFailure({
    outcome: failed.outcome,
    tries: run.record.tries,
    reports: false,
    uncertainWindow: 0,
  })
  const progress = letPass(run, unsettled(run.record, { settlement, attempt, at, retentionMs }))
  await run.message.commitUnderLease(progress)
  const after = resultAfter(run, progress)
  return after.kind === 'next' ? { kind: 'reload', at, for: 'retry' } : after
}

/** Something unforeseen went wrong: it counts as a try, so that it ends, whatever causes it. */
export function settleCrash(run: MessageRun): Promise<RunResult> {
  return settleFailed(run, { step: 'message', outcome: CRASHED, ms: 0 })
}

/** Commits the message's end. */
export async function settleEnd(
  run: MessageRun,
  end: MessageEnd,
  answer = run.record.answer,
): Promise<RunResult> {
  const { retentionMs, now } = run.options
  const options = { end, at: now(), retentionMs, ...(answer === undefined ? {} : { answer }) }
  const progress = ended(run.record, options)
  await run.message.commitUnderLease(progress, { deferrable: true })
  return closed(run, progress)
}

function resultAfter(run: MessageRun, progress: Progress): StepResult {
  if (progress.open !== true) return closed(run, progress)
  if (progress.due === undefined) return { kind: 'next' }
  return (
    waitUntilDue(run) ?? {
      kind: 'wait',
      record: run.record,
      until: progress.due.getTime(),
      for: progress.waitingFor ?? 'retry',
    }
  )
}

function closed({ options, record }: MessageRun, progress: Progress): RunResult {
  reportEnd(options, record, progress)
  return { kind: 'closed' }
}

/** Reports that a message has reached its end, by one wide line and the metrics. */
export function reportEnd(
  {
    log,
    metrics,
    now,
  }: { log: Log; metrics: Pick<Metrics, 'settled' | 'sent' | 'delivered'>; now: () => number },
  record: MessageRecord,
  progress: Progress,
): void {
  metrics.settled(progress.state, progress.fault)
  observeLatency(metrics, record, { from: 'sending', to: progress.state, at: now() })
  log.info(messageLine(record, progress, now()), 'message')
}

/** The thread may be a phone number, so it is not in it. */
function messageLine(record: MessageRecord, progress: Progress, now: number): object {
  const { _id, workspace, channel, partition, receivedAt, requestId, traceparent } = record
  const traceId = parseTraceparent(traceparent)?.traceId
  const { state, reason, fault, sends, attempts } = progress
  return {
    messageId: _id,
    workspace,
    channel,
    partition,
    requestId,
    traceId,
    state,
    reason,
    fault,
    sends: sends.length,
    attempts: attempts.length,
    ms: now - receivedAt.getTime(),
  }
}
