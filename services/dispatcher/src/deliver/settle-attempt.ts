import { defined } from '@parley/shared/defined'
import type { Log } from '@parley/shared/log'
import { parseTraceparent } from '@parley/shared/tracing'
import { type CallKind, callDelay, givenAfter, isToSystem, triedFor } from '../message/call-result.ts'
import type { Attempt, MessageRecord, Progress, Send } from '../message/message-record.ts'
import { CRASHED, type Outcome } from '../message/outcome.ts'
import {
  attemptOf,
  ended,
  HANDLER_IS_PERSON,
  type MessageEnd,
  resumed,
  settledSend,
  triesOf,
  unsettled,
} from '../message/progress.ts'
import { isSettled } from '../message/send-state.ts'
import { type Settlement, settle, settleFailure } from '../message/settle.ts'
import { callSettled, handOffSettled, settledTurns } from '../message/turn-progress.ts'
import { type Metrics, observeLatency } from '../metrics/metrics.ts'
import type { Traffic } from '../store/traffic.ts'
import type { MessageRun } from './message-run.ts'
import type { StepOf } from './step.ts'
import type { RunResult } from './thread-run.ts'
import { letPass } from './wait.ts'
import { Superseded } from './written-message.ts'

const MAX_MERGES = 20

/** The result of a run, or that its next send follows. */
export type StepResult = RunResult | { kind: 'next' }

/** Commits the outcome of a send. Statuses of it that came meanwhile are merged: neither may undo the other. */
export async function settleSend(
  run: MessageRun,
  attempted: {
    index: number
    outcome: Outcome
    reports: boolean
    ms: number
    /** Where a model made the send. */
    call?: CallKind | undefined
  },
): Promise<StepResult> {
  const { index, reports, ms, call } = attempted
  const { uncertainWindow, retentionMs, now } = run.options
  for (let merges = 0; merges < MAX_MERGES; merges++) {
    const { sends } = run.record
    const tries = triesOf(run.record, index)
    const at = now()
    const attempt = attemptOf({ step: sends[index]?.id ?? '', outcome: attempted.outcome, at, ms })
    const outcome = outcomeWithStatus(sends[index], attempted.outcome)
    const settlement = settlementOf({ outcome, tries, reports, uncertainWindow }, call)
    const given = call && settledCall(run.record, { kind: call, index, outcome, settlement, attempt, at })
    const progress =
      given ??
      (settlement.kind === 'settled'
        ? settledSend(run.record, { index, settlement, attempt, at, retentionMs })
        : letPass(run, unsettled(run.record, { index, settlement, attempt, at, retentionMs })))
    const deferrable = given === undefined && settlement.kind === 'settled'
    if (await run.message.commitFact(progress, { deferrable })) return resultAfter(run, progress)
    await run.message.mergeStatuses()
  }
  throw new Superseded()
}

/**
 * What statuses said of a send that came before its response counts. Where there is no response, and the failure that
 * they report may be that of an earlier attempt, it may have happened still.
 */
function outcomeWithStatus(send: Send | undefined, outcome: Outcome): Outcome {
  if (!isSettled(send) || (outcome.kind === 'uncertain' && send?.retryAt !== undefined)) return outcome
  const { providerId } = outcome.kind === 'accepted' ? outcome : {}
  return { kind: 'accepted', delivered: false, ...defined({ providerId }) }
}

/** Returns the settlement; calls that a model or a person waits for are retried sooner than others. */
export function settlementOf(
  attempted: Parameters<typeof settle>[0],
  call: CallKind | undefined,
): Settlement {
  const settlement = settle(attempted)
  if (!isToSystem(call) || settlement.kind !== 'retry') return settlement
  return { ...settlement, delay: callDelay(attempted.tries) }
}

/** The progress after a call of a model whose result it is given; undefined while it is tried on. */
export function settledCall(
  record: MessageRecord,
  options: {
    kind: CallKind
    index: number
    outcome: Outcome
    settlement: Settlement
    attempt: Attempt
    at: number
  },
): Progress | undefined {
  const { kind, index, attempt, at } = options
  const send = record.sends[index]
  const tried = send === undefined ? 0 : triedFor(record, send, attempt)
  const given = givenAfter({ ...options, triedFor: tried })
  if (given === undefined) return undefined
  const settled = { index, attempt, ...given }
  return kind === 'handOff' ? handOffSettled(record, { ...settled, at }) : callSettled(record, settled)
}

/** Commits that the message's handler or one of its functions failed. */
export async function settleFailed(
  run: MessageRun,
  failed: Pick<StepOf<'fail'>, 'step' | 'outcome' | 'ms'>,
): Promise<StepResult> {
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
  return resultAfter(run, progress)
}

/** Something unforeseen went wrong: it counts as a try, so that it ends, whatever causes it. */
export async function settleCrash(run: MessageRun): Promise<RunResult> {
  const result = await settleFailed(run, { step: 'message', outcome: CRASHED, ms: 0 })
  if (result.kind !== 'next') return result
  const { record, options } = run
  return { kind: 'wait', record, until: record.due?.getTime() ?? options.now(), for: 'retry' }
}

/** Commits that what the provider reported as failed later is sent again when it is due. */
export async function settleResumed(run: MessageRun): Promise<StepResult> {
  await run.message.commitMerged((record) => letPass(run, resumed(record)))
  return resultAfter(run, run.record)
}

/** Commits the message's end. */
export async function settleEnd(
  run: MessageRun,
  end: MessageEnd,
  answer: string | undefined = run.record.answer,
): Promise<RunResult> {
  const { retentionMs, now } = run.options
  const options = { end, at: now(), retentionMs, ...(answer === undefined ? {} : { answer }) }
  const progress = ended(run.record, options)
  await run.message.commitUnderLease(progress, { deferrable: true })
  return closed(run, progress)
}

/** Commits the message's end, with what the provider's statuses wrote meanwhile, before anything else happens. */
export async function settleEndMerged(run: MessageRun, end: MessageEnd): Promise<RunResult> {
  const { retentionMs, now } = run.options
  await run.message.commitMerged((record) => ended(stopped(record, end), { end, at: now(), retentionMs }))
  return closed(run, run.record)
}

/** Where a person has taken the thread over, what has not left yet does not leave any more. */
function stopped(record: MessageRecord, end: MessageEnd): MessageRecord {
  if (end !== HANDLER_IS_PERSON || record.turns === undefined) return record
  return { ...record, turns: settledTurns(record), ending: HANDLER_IS_PERSON }
}

function resultAfter(run: MessageRun, progress: Progress): StepResult {
  return progress.open === true ? { kind: 'next' } : closed(run, progress)
}

function closed({ options, record }: MessageRun, progress: Progress): RunResult {
  reportEnd(options, record, progress)
  return { kind: 'closed' }
}

interface EndOptions {
  log: Log
  metrics: Pick<Metrics, 'settled' | 'sent' | 'delivered'>
  traffic: Pick<Traffic, 'moved'>
  now: () => number
}

/** Reports that a message has reached its end: by one wide line (a warning where it is dead), the metrics and the traffic. */
export function reportEnd(
  { log, metrics, traffic, now }: EndOptions,
  record: MessageRecord,
  progress: Progress,
): void {
  metrics.settled(progress.state, progress.fault)
  const change = { from: 'sending', to: progress.state, at: now() } as const
  observeLatency(metrics, record, change)
  traffic.moved(record, change)
  const line = messageLine(record, progress, now())
  if (progress.state === 'dead') log.warn(line, 'message')
  else log.info(line, 'message')
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
