import type { Purpose } from '@parley/shared/consent'
import { defined } from '@parley/shared/defined'
import { CAMPAIGN_SOURCE } from '@parley/shared/message'
import { isUnavailable } from '@parley/shared/unavailable'
import { type Admission, callEndOf } from '../channels/endpoints/endpoints.ts'
import type { MayLeave } from '../channels/http/http-client.ts'
import type { RateKeys } from '../channels/send-rate-limit/local-rate.ts'
import { CALL_FOR_MS, failedCall, hasBegun, isToSystem, triedSince } from '../message/call-result.ts'
import type { Send } from '../message/message-record.ts'
import { objectIn } from '../message/object-content.ts'
import {
  INTERRUPTED,
  INTERRUPTED_FUNCTION,
  INTERRUPTED_KEYED,
  OPTED_OUT,
  type Outcome,
  outsideServiceWindow,
  SUBMITTED,
} from '../message/outcome.ts'
import { attemptOf, claimed, HANDLER_IS_PERSON } from '../message/progress.ts'
import { isFromProvider } from '../message/received-content.ts'
import { callSettled, handOffSettled, INTERRUPTED_CALL } from '../message/turn-progress.ts'
import { checkTemplate } from './check-template.ts'
import { claimOf, SEND_DEADLINE_MS } from './claim.ts'
import { isOptedOut, isTemplate, noteOptOut } from './consent.ts'
import { type DeliveryRoute, type MessageRun, routeOf } from './message-run.ts'
import { type StepResult, settleEndMerged, settleSend } from './settle-attempt.ts'
import type { Planned } from './step.ts'
import type { RunResult } from './thread-run.ts'
import { waitFor } from './thread-run.ts'
import { waitForEndpoint } from './wait.ts'
import { Superseded } from './written-message.ts'

const SUBMIT_AGAIN_MS = 5_000

export interface NextSend {
  index: number
  send: Send
  /** The purpose of a template, where that is known. */
  purpose?: Purpose | undefined
}

type Leave = Extract<Admission, { kind: 'entered' }>['leave']

/** Makes the message's next send, which is no call of a model, by its route, and settles it. */
export async function sendNext(run: MessageRun, planned: Planned, next: NextSend): Promise<StepResult> {
  const { id, of, content } = next.send
  if (run.record.takenOver !== undefined) return settleEndMerged(run, HANDLER_IS_PERSON)
  if (content.kind === 'submit') return submitTask(run, planned, next.index)
  if (content.kind === 'tool') throw new Error('a call of a model is made in its turn')
  const messageId = run.record._id
  const outcome = await outsideWindow(run, planned, next.send)
  if (outcome !== undefined) {
    const { index } = next
    const call = of?.call === undefined ? undefined : 'sent'
    return settleSend(run, { index, reports: true, outcome, ms: 0, call })
  }
  const fit = await checkTemplate(run, planned, next.send)
  if (fit?.kind === 'refused') {
    const call = of?.call === undefined ? undefined : 'sent'
    return settleSend(run, { index: next.index, reports: true, outcome: fit.outcome, ms: 0, call })
  }
  if (fit?.kind === 'waits') return fit.result
  const found = routeOf(run.options, planned, { id, messageId, content, ...defined({ of }) })
  // An action's spec is read by others, too.
  return sendBy(run, await waitFor(run.calling, found), { ...next, purpose: fit?.purpose })
}

/** Why free text is not sent: a provider may take it only for a while after the person wrote; templates at any time. */
function outsideWindow(
  { record, options, calling }: MessageRun,
  { channel }: Planned,
  { content, state }: Send,
): undefined | Promise<Outcome | undefined> {
  const { serviceWindow } = options.callbackOf(channel.callback)
  if (serviceWindow === undefined || state !== 'pending' || !isFree(content)) return undefined
  return calling(async () => {
    const window = { now: options.now(), windowMs: serviceWindow.ms }
    return (await options.threads.isOutsideWindow(record, window))
      ? outsideServiceWindow(serviceWindow)
      : undefined
  })
}

function isFree(content: Send['content']): boolean {
  return content.kind === 'text' || (objectIn(content) !== undefined && !isTemplate(content))
}

/** Submitting twice counts once, so it needs no claim; with the broker unavailable the message waits for it. */
async function submitTask(
  run: MessageRun,
  { channel, message }: Planned,
  index: number,
): Promise<StepResult> {
  const { submit, now } = run.options
  const started = performance.now()
  // A handler asked again may submit something else.
  if (run.record.answer !== undefined) await run.storeAnswer()
  try {
    // Which thread is the first of its name is known of what is stored.
    if (!(await run.leased.ensureStored(run.record)) || !run.leased.isLeased()) throw new Superseded()
    await submit({ record: run.record, channel, submit: message.answer.submit ?? {} })
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return { kind: 'wait', record: run.record, until: now() + SUBMIT_AGAIN_MS, for: 'server' }
  }
  return settleSend(run, { index, reports: false, outcome: SUBMITTED, ms: performance.now() - started })
}

/** Claims a send, makes it by its route when it may be made, and settles it. */
export async function sendBy(run: MessageRun, route: DeliveryRoute, next: NextSend): Promise<StepResult> {
  if (run.record.takenOver !== undefined) return settleEndMerged(run, HANDLER_IS_PERSON)
  const pause = await waitForStatus(run, route, next)
  if (pause !== undefined) return pause
  const admission = route.url === undefined ? undefined : await enter(run, route.url, route.timeoutMs)
  if (admission?.kind === 'wait') {
    if (isToSystem(route.call)) return waitToCall(run, { ...next, call: route.call }, admission)
    return waitForEndpoint(run, admission)
  }
  try {
    return await sendNow(run, route, { ...next, leave: admission?.leave })
  } finally {
    admission?.leave('unknown')
  }
}

/** A claimed send is not made again while its status may still arrive. */
function waitForStatus(
  run: MessageRun,
  { reports, isRepeatable = true, isKeyed = false, timeoutMs, call }: DeliveryRoute,
  { index, send }: NextSend,
): StepResult | undefined | Promise<StepResult> {
  const { uncertainWindow, statuses, now } = run.options
  const claim = claimOf({
    record: run.record,
    send,
    reports,
    isRepeatable,
    timeoutMs,
    uncertainWindow,
    statuses,
    now: now(),
  })
  if (claim.kind === 'busy') return { kind: 'reload', at: claim.until, for: 'status' }
  // A call that fails under the key from now on may have been done before.
  const wasMade = isKeyed && send.state === 'claimed'
  if (wasMade) return settleSend(run, { index, reports, call, outcome: INTERRUPTED_KEYED, ms: 0 })
  if (claim.kind === 'free') return undefined
  if (isRepeatable) return settleSend(run, { index, reports, call, outcome: INTERRUPTED, ms: 0 })
  if (call === 'result') return settleInterruptedCall(run, { index, send })
  return settleSend(run, { index, reports, outcome: INTERRUPTED_FUNCTION, ms: 0 })
}

/** It may have run, and is not made again: the model decides what follows. */
async function settleInterruptedCall(run: MessageRun, { index, send }: NextSend): Promise<StepResult> {
  const attempt = attemptOf({ step: send.id, outcome: INTERRUPTED, at: run.options.now(), ms: 0 })
  await run.message.commitMerged((record) =>
    callSettled(record, { index, attempt, result: INTERRUPTED_CALL, state: 'failed' }),
  )
  return { kind: 'next' }
}

export function enter(
  { record, calling, options }: MessageRun,
  url: string,
  timeoutMs: number | undefined,
): Admission | Promise<Admission> {
  return waitFor(calling, options.endpoints.enter({ workspace: record.workspace, url, timeoutMs }))
}

/** Reserves a slot, claims the send, calls the other side, and settles what it said. */
async function sendNow(
  run: MessageRun,
  route: DeliveryRoute,
  { index, send, purpose, leave }: NextSend & { leave: Leave | undefined },
): Promise<StepResult> {
  const pause = route.keys && (await waitForRate(run, route.keys, send))
  if (pause !== undefined) return pause
  // Should this process die, what nobody reports on is made again under the same id in any case, where it may be;
  // but it must be the same, and a handler asked again may answer something else.
  const { reports, isRepeatable = true } = route
  const deferrable = !reports && isRepeatable && run.record.answer === undefined
  const unclaimed = run.record
  let mayLeave: MayLeave
  let optedOut: boolean
  try {
    await run.message.commitUnderLease(claimed(unclaimed, { index, at: run.options.now() }), { deferrable })
    mayLeave = untilDeadline(run)
    if (route.keys !== undefined) await run.rate.atSlot(send.id, { keys: route.keys, mayLeave })
    optedOut = await isOptedOut(run, { content: send.content, purpose })
    if (!mayLeave()) throw new Superseded()
    if (route.keys !== undefined && !optedOut) run.options.traffic.left(run.record, route.keys)
  } catch (error) {
    // Left as it is, it would count as uncertain, though nothing has left.
    if (error instanceof Superseded || isUnavailable(error)) await run.message.release(unclaimed, index)
    throw error
  }
  if (optedOut)
    return settleSend(run, { index, reports: route.reports, call: route.call, outcome: OPTED_OUT, ms: 0 })
  const attempted = await attempt(run, route, mayLeave)
  if (attempted === undefined) {
    await run.message.release(unclaimed, index)
    throw new Superseded()
  }
  leave?.(callEndOf(attempted.outcome))
  await noteOptOut(run, send, attempted.outcome)
  return settleSend(run, { index, reports: route.reports, call: route.call, ...attempted })
}

/** An endpoint that may not be called for too long counts as one that can't be reached. */
async function waitToCall(
  run: MessageRun,
  { index, send, call }: NextSend & { call: DeliveryRoute['call'] },
  admission: Extract<Admission, { kind: 'wait' }>,
): Promise<StepResult> {
  const { record, options } = run
  if (!hasBegun(record, send)) return waitForEndpoint(run, admission)
  const latest = triedSince(record, send) + CALL_FOR_MS
  if (options.now() < latest)
    return waitForEndpoint(run, { ...admission, until: Math.min(admission.until, latest) })
  const failed = { index, ...failedCall(admission.reason) }
  await run.message.commitMerged((current) =>
    call === 'handOff'
      ? handOffSettled(current, { ...failed, at: options.now() })
      : callSettled(current, failed),
  )
  return { kind: 'next' }
}

/** Waits for a slot where the send is limited to a rate; a handler's answer is stored meanwhile. */
async function waitForRate(run: MessageRun, keys: RateKeys, send: Send): Promise<RunResult | undefined> {
  if (run.record.state === 'received' && isFromProvider(run.record))
    await run.options.sendRateLimit.count(keys)
  const isBulk = run.record.source === CAMPAIGN_SOURCE
  const wait = await run.rate.nextWait(send.id, { keys, isBulk, ended: run.leased.ended })
  if (wait === undefined) return undefined
  await run.storeAnswer(wait.for)
  const { record } = run
  if (wait.kind === 'queued') return { kind: 'pending', record, settled: wait.settled, for: wait.for }
  return { kind: 'wait', record, until: wait.at, for: wait.for }
}

/** Returns true while a claimed send may leave: the lease is valid, and others still wait for its status. */
export function untilDeadline({ leased }: MessageRun): MayLeave {
  const claimedAt = performance.now()
  return () => leased.isLeased() && performance.now() - claimedAt < SEND_DEADLINE_MS
}

/** Undefined when it might not leave any more by the time that it had a connection: nothing left. */
async function attempt(
  run: MessageRun,
  { keys, deliver }: DeliveryRoute,
  mayLeave: MayLeave,
): Promise<{ outcome: Outcome; ms: number } | undefined> {
  const started = performance.now()
  let refused = false
  const outcome = await run.calling(() =>
    deliver(() => {
      refused = !mayLeave()
      return !refused
    }),
  )
  if (refused) return undefined
  const tooFast = outcome.kind === 'retryable' && outcome.isTooFast
  if (tooFast && keys !== undefined) await run.options.sendRateLimit.slowDown(keys)
  return { outcome, ms: performance.now() - started }
}
