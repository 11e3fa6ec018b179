import { isUnavailable } from '@parley/shared/unavailable'
import { callEndOf } from '../channels/endpoints/endpoints.ts'
import type { Attempt, MessageRecord, Progress } from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import { attemptOf, carried, claimed, withAttempt, withSend } from '../message/progress.ts'
import type { DeliveryRoute, MessageRun } from './message-run.ts'
import { enter, type NextSend, untilDeadline } from './send.ts'
import { type StepResult, settledCall, settlementOf, settleSend } from './settle-attempt.ts'
import { letPass } from './wait.ts'
import { Superseded } from './written-message.ts'

/** Calls of one message that are made at once, at most. */
export const MAX_TOGETHER = 8

/** A call of a model that may be made beside others. */
export interface ReadyCall extends NextSend {
  route: DeliveryRoute
}

type Entered = ReadyCall & { leave: ((end: ReturnType<typeof callEndOf>) => void) | undefined }
type Attempted = ReadyCall & { outcome: Outcome; ms: number }

/**
 * Makes calls of a model side by side: claimed by one write, each settled as soon as it has its result, and what did not
 * come through settled by one write at the end. Undefined where fewer than two may be made now.
 */
export async function callTogether(run: MessageRun, calls: ReadyCall[]): Promise<StepResult | undefined> {
  if (calls.length < 2) return undefined
  const entered = await enterAll(run, calls)
  try {
    return entered.length < 2 ? undefined : await makeAll(run, entered)
  } finally {
    for (const { leave } of entered) leave?.('unknown')
  }
}

async function enterAll(run: MessageRun, calls: ReadyCall[]): Promise<Entered[]> {
  const admissions = await Promise.all(
    calls.map(async (call) => {
      const { url, timeoutMs } = call.route
      return { call, admission: url === undefined ? undefined : await enter(run, url, timeoutMs) }
    }),
  )
  return admissions.flatMap(({ call, admission }) =>
    admission?.kind === 'wait' ? [] : { ...call, leave: admission?.leave },
  )
}

async function makeAll(run: MessageRun, calls: Entered[]): Promise<StepResult> {
  await claimAll(run, calls)
  const mayLeave = untilDeadline(run)
  const unsettled: Attempted[] = []
  const refused: ReadyCall[] = []
  let writing: Promise<unknown> = Promise.resolve()
  const make = async (call: Entered): Promise<void> => {
    const attempted = await attempt(call, mayLeave)
    if (attempted === undefined) return void refused.push(call)
    call.leave?.(callEndOf(attempted.outcome))
    if (!isSettling(attempted.outcome)) return void unsettled.push({ ...call, ...attempted })
    // Each write is based on the one before.
    const { index } = call
    const written = writing.then(() =>
      settleSend(run, { index, reports: false, call: 'result', ...attempted }),
    )
    writing = written.catch(() => undefined)
    await written
  }
  const ends = await run.calling(() => Promise.allSettled(calls.map(make)))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  if (unsettled.length + refused.length > 0) {
    const at = run.options.now()
    await run.message.commitMerged((record) => letPass(run, unreached(record, { unsettled, refused, at })))
  }
  return { kind: 'next' }
}

async function claimAll(run: MessageRun, calls: Entered[]): Promise<void> {
  const unclaimed = run.record
  const at = run.options.now()
  let all = unclaimed
  for (const { index } of calls) all = { ...all, ...claimed(all, { index, at }) }
  try {
    await run.message.commitUnderLease({ ...carried(all), open: true })
    if (!run.leased.isLeased()) throw new Superseded()
  } catch (error) {
    // Left as they are, they would count as uncertain, though nothing has left.
    if (error instanceof Superseded || isUnavailable(error))
      await run.message.release(unclaimed, ...calls.map(({ index }) => index))
    throw error
  }
}

/** Undefined when it might not leave any more by the time that it had a connection: nothing left. */
async function attempt(
  { route }: Entered,
  mayLeave: () => boolean,
): Promise<{ outcome: Outcome; ms: number } | undefined> {
  const started = performance.now()
  let refused = false
  const outcome = await route.deliver(() => {
    refused = !mayLeave()
    return !refused
  })
  return refused ? undefined : { outcome, ms: performance.now() - started }
}

/** True if the model is given a result, whatever was tried before. */
function isSettling(outcome: Outcome): boolean {
  return (
    outcome.kind === 'accepted' ||
    outcome.kind === 'permanent' ||
    (outcome.kind === 'uncertain' && outcome.isFinal === true)
  )
}

/** The message's progress after calls did not come through, or did not leave: they are tried on together. */
function unreached(
  record: MessageRecord,
  { unsettled, refused, at }: { unsettled: Attempted[]; refused: ReadyCall[]; at: number },
): Progress {
  const { tries } = record
  const delays: number[] = []
  let current = record
  for (const { index, send, outcome, ms } of unsettled) {
    const attempt: Attempt = attemptOf({ step: send.id, outcome, at, ms })
    const settlement = settlementOf({ outcome, tries, reports: false, uncertainWindow: 0 }, 'result')
    const given = settledCall(current, { kind: 'result', index, outcome, settlement, attempt, at })
    if (given === undefined) delays.push('delay' in settlement ? settlement.delay : 0)
    current =
      given === undefined
        ? { ...pendingAt(current, index), attempts: withAttempt(current.attempts, attempt) }
        : { ...current, ...given }
  }
  for (const { index } of refused) current = pendingAt(current, index)
  const progress: Progress = { ...carried(current), open: true }
  if (delays.length === 0) return progress
  return { ...progress, tries: tries + 1, due: new Date(at + Math.max(...delays)), waitingFor: 'retry' }
}

const pendingAt = (record: MessageRecord, index: number): MessageRecord => ({
  ...record,
  sends: withSend(record.sends, index, { state: 'pending' }),
})
