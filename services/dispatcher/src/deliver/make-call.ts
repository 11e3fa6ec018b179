import { kindOf } from '../agents/kinds/kinds.ts'
import type { OpenedTool, Toolbox, ToolOutcome } from '../agents/toolbox.ts'
import { whyNotRepeated } from '../agents/tools/tool.ts'
import { deadlineOf, turnSettingsOf } from '../agents/turns/bounds.ts'
import { DELIVERY_MS } from '../channels/callback.ts'
import type { MayLeave } from '../channels/http/http-client.ts'
import { CALL_MS } from '../functions/call-settings.ts'
import { failedCall, uncertainCall } from '../message/call-result.ts'
import type { MessageRecord, Progress, Send } from '../message/message-record.ts'
import {
  effectUnknown,
  INTERRUPTED,
  INTERRUPTED_KEYED,
  NO_RESPONSE,
  type Outcome,
} from '../message/outcome.ts'
import { attemptOf, carried, ranAgainAt, withAttempt, withSend } from '../message/progress.ts'
import type { ToolCall } from '../message/turn.ts'
import { callSettled, handOffSettled, INTERRUPTED_CALL } from '../message/turn-progress.ts'
import { callTogether, MAX_TOGETHER, type ReadyCall } from './call-together.ts'
import { claimOf } from './claim.ts'
import type { MessageRun } from './message-run.ts'
import { type NextSend, sendBy, sendNext } from './send.ts'
import type { StepResult } from './settle-attempt.ts'

/** Of the calls of a turn, for those that may be made at once. */
const MAX_LOOKED_AT = 16
const GONE = 'The assistant is not there any more.'

/**
 * Makes a call of a model: it says something to the person, hands over to one, or calls a tool. What can't be called
 * fails at once, and the model decides what follows. The tools are opened once for the calls of one run.
 */
export async function makeCall(run: MessageRun, next: NextSend): Promise<StepResult> {
  const call = callOf(run, next.send)
  const repeated = next.send.state === 'pending' && call && whyNotRepeated(run.record.turns ?? [], call)
  if (repeated) return settleFailedCall(run, next, repeated)
  const interrupted = await settleInterrupted(run, next)
  if (interrupted !== undefined) return interrupted
  const opened = await openCallOf(run, next.send)
  switch (opened.kind) {
    case 'invalid':
      return settleFailedCall(run, next, opened.reason)
    case 'say':
      return say(run, { ...next, opened })
    case 'handOff':
      return handOff(run, { ...next, reason: opened.reason })
    case 'call': {
      const first = readyCall(run, next, opened)
      const together = await callTogether(run, [first, ...(await concurrentCalls(run, next, opened))])
      return together ?? sendBy(run, first.route, next)
    }
  }
}

function readyCall(
  run: MessageRun,
  next: NextSend,
  opened: Extract<OpenedTool, { kind: 'call' }>,
): ReadyCall {
  const { url, isRepeatable = true, isKeyed, timeoutMs } = opened
  const deliver = async (mayLeave: MayLeave) => {
    const limits = { mayLeave, leftMs: timeLeft(run), ended: run.leased.ended }
    return outcomeOf(await opened.deliver(next.send.id, limits))
  }
  return {
    ...next,
    route: { reports: false, isRepeatable, isKeyed, url, timeoutMs, call: 'result', deliver },
  }
}

/** Returns the time left. A call begun in time gets its usual time, so that few are broken off that have an effect. */
function timeLeft({ record, options, channel }: MessageRun): number {
  const now = options.now()
  const { messageMs } = turnSettingsOf(channel.config)
  return Math.max(deadlineOf(record, { messageMs, now }) - now, CALL_MS)
}

/**
 * The calls of the same turn that may be made beside this one: those of other actions, and those of one action that only
 * read. What says something, hands over or works at the task stays where it is, and so does all behind it.
 */
async function concurrentCalls(
  run: MessageRun,
  { index, send }: NextSend,
  opened: Extract<OpenedTool, { kind: 'call' }>,
): Promise<ReadyCall[]> {
  const action = callOf(run, send)?.of?.action
  if (send.state !== 'pending' || action === undefined) return []
  const before = [{ action, isReadOnly: opened.isReadOnly === true }]
  const concurrent: ReadyCall[] = []
  for (const [at, other] of run.record.sends.entries()) {
    if (at <= index) continue
    if (before.length === MAX_LOOKED_AT || concurrent.length === MAX_TOGETHER - 1) break
    const call = callOf(run, other)
    const action = call?.of?.action
    const isNext = other.of?.turn === send.of?.turn && other.state === 'pending' && action !== undefined
    if (!isNext || whyNotRepeated(run.record.turns ?? [], call as ToolCall) !== undefined) break
    const one = await openCallOf(run, other)
    if (one.kind !== 'call') break
    const isReadOnly = one.isReadOnly === true
    const isFree = before.every((earlier) => earlier.action !== action || (earlier.isReadOnly && isReadOnly))
    before.push({ action, isReadOnly })
    if (isFree) concurrent.push(readyCall(run, { index: at, send: other }, one))
  }
  return concurrent
}

/** Several calls whose claims are over are settled at once: each alone would be waited for as long again. */
async function settleInterrupted(
  run: MessageRun,
  { index, send }: NextSend,
): Promise<StepResult | undefined> {
  const others = run.record.sends.flatMap((one, at) =>
    at !== index && one.state === 'claimed' && one.content.kind === 'tool' ? { index: at, send: one } : [],
  )
  if (send.state !== 'claimed' || others.length === 0) return undefined
  const { uncertainWindow, statuses, now } = run.options
  const calls = await Promise.all(
    [{ index, send }, ...others].map(async (one) => ({ ...one, opened: await openCallOf(run, one.send) })),
  )
  const longest = calls.map(({ opened }) => (opened.kind === 'call' && opened.timeoutMs) || DELIVERY_MS)
  const asked = { record: run.record, send, reports: false, isRepeatable: false }
  const timeoutMs = Math.max(...longest)
  const claim = claimOf({ ...asked, timeoutMs, uncertainWindow, statuses, now: now() })
  if (claim.kind === 'busy') return { kind: 'reload', at: claim.until, for: 'status' }
  await run.message.commitMerged((record) => interruptedCalls(record, calls, now()))
  return { kind: 'next' }
}

/** Where a call may be made again it is; where it may not, it may have run. */
function interruptedCalls(
  record: MessageRecord,
  calls: (NextSend & { opened: OpenedTool })[],
  at: number,
): Progress {
  let current = record
  for (const { index, send, opened } of calls) {
    if (current.sends[index]?.state !== 'claimed') continue
    const isKeyed = opened.kind === 'call' && opened.isKeyed
    const outcome = isKeyed ? INTERRUPTED_KEYED : INTERRUPTED
    const attempt = attemptOf({ step: send.id, outcome, at, ms: 0 })
    const given =
      opened.kind === 'invalid'
        ? uncertainCall(opened.reason)
        : { result: INTERRUPTED_CALL, state: 'failed' as const }
    const mayBeMade = opened.kind === 'call' && opened.isRepeatable !== false
    current = mayBeMade
      ? {
          ...current,
          sends: withSend(current.sends, index, { state: 'pending' }),
          ...(isKeyed && { attempts: withAttempt(current.attempts, attempt) }),
        }
      : { ...current, ...callSettled(current, { index, attempt, ...given }) }
  }
  return { ...carried(current), open: true }
}

function callOf({ record }: MessageRun, { of }: Send): ToolCall | undefined {
  return of?.call === undefined ? undefined : record.turns?.[of.turn]?.calls[of.call]
}

/** Each is opened once in a run, for itself and for those that may be made beside it. */
function openCallOf(run: MessageRun, send: Send): Promise<OpenedTool> {
  const known = run.openedCalls.get(send.id)
  if (known !== undefined) return known
  const opened = run.calling(async () => {
    run.toolbox ??= openToolbox(run)
    return openCall(await run.toolbox, callOf(run, send))
  })
  run.openedCalls.set(send.id, opened)
  return opened
}

async function openToolbox({ record, agents, of }: MessageRun): Promise<Toolbox | undefined> {
  const { channel, message } = of
  const kind = kindOf(channel)
  if (kind === undefined) return undefined
  const { thread, _id: messageId } = record
  const loaded = await agents.loadAgent({ channel, kind, thread, notBefore: ranAgainAt(record) })
  if (loaded.kind === 'missing') return undefined
  return agents.openToolbox({ agent: loaded.agent, channel, messageId, thread, message })
}

async function openCall(toolbox: Toolbox | undefined, call: ToolCall | undefined): Promise<OpenedTool> {
  if (toolbox === undefined || call === undefined) return { kind: 'invalid', reason: GONE }
  return toolbox.open(call)
}

async function settleFailedCall(
  run: MessageRun,
  { index, send }: NextSend,
  reason: string,
): Promise<StepResult> {
  // Whoever claimed it found it there, and may have made it.
  const given = send.state === 'claimed' ? uncertainCall(reason) : failedCall(reason)
  await run.message.commitMerged((record) => callSettled(record, { index, ...given }))
  return { kind: 'next' }
}

/** From its claim on it is a send to the person, so that statuses of it are known for what they are. */
function say(
  run: MessageRun,
  { index, send, opened }: NextSend & { opened: Extract<OpenedTool, { kind: 'say' }> },
): Promise<StepResult> {
  const { content } = opened
  const sends = withSend(run.record.sends, index, { content })
  run.message.record = { ...run.record, sends }
  return sendNext(run, { ...run.of, sends }, { index, send: { ...send, content } })
}

/**
 * First the thread is the person's; then the channel's own system is told, where there is one. What follows in the
 * thread does not wait until it can be. By then the person may have given the thread back, so it is given once.
 */
async function handOff(
  run: MessageRun,
  { index, send, reason }: NextSend & { reason: string },
): Promise<StepResult> {
  const { agents, of } = run
  const { channel, message } = of
  if (run.record.handedOffAt === undefined) {
    await agents.handOff?.({ record: run.record, channel, reason })
    const handedOffAt = new Date(run.options.now())
    await run.message.commitMerged((record) => ({ ...carried(record), open: true, handedOffAt }))
  }
  run.isPassable = true
  const notification = agents.notifyHandOff({
    channel,
    messageId: run.record._id,
    message,
    id: send.id,
    reason,
  })
  if (notification !== undefined)
    return sendBy(run, { reports: false, call: 'handOff', ...notification }, { index, send })
  await run.message.commitMerged((record) => {
    const result = { state: 'done', text: 'A person takes over.' } as const
    return handOffSettled(record, { index, result, state: 'delivered', at: run.options.now() })
  })
  return { kind: 'next' }
}

function outcomeOf(outcome: ToolOutcome): Outcome {
  if (outcome.kind === 'answered') return { kind: 'accepted', delivered: true, result: outcome.result }
  if (outcome.kind === 'uncertain') return effectUnknownOf(outcome)
  const code = outcome.mayHaveRun ? NO_RESPONSE : 'not_reached'
  return { kind: 'retryable', code, fault: 'channel', reason: outcome.reason }
}

function effectUnknownOf({ reason, result }: Extract<ToolOutcome, { kind: 'uncertain' }>): Outcome {
  return { ...effectUnknown({ reason, hasResponse: result.status !== undefined }), result }
}
