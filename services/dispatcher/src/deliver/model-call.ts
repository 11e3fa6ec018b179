import type { WebhookMessage } from '@parley/shared/message'
import type { Agent } from '../agents/agent.ts'
import type { MediaKind } from '../agents/model/media-slots.ts'
import type { ModelChoice, ModelResult } from '../agents/model-client.ts'
import { type Agents, agentTypeOf } from '../agents/turns/agents.ts'
import { deadlineOf, MODEL_STEP, turnSettingsOf } from '../agents/turns/bounds.ts'
import type { ModelCallState } from '../agents/turns/model-calls.ts'
import { afterRefusal, nextChoice, retryOf } from '../agents/turns/model-retry.ts'
import { personOf } from '../agents/usage/budgets-of.ts'
import { BUDGET_PENDING, BUDGET_SPENT } from '../agents/usage/usage.ts'
import type { Channel } from '../channels/channels.ts'
import type { Attempt, Ending, MessageRecord } from '../message/message-record.ts'
import { attemptOf, modelTried, ranAgainAt, withAttempt } from '../message/progress.ts'
import { endDecided } from '../message/turn-progress.ts'
import type { MessageRun } from './message-run.ts'
import type { StepResult } from './settle-attempt.ts'
import type { RunResult } from './thread-run.ts'
import { letPass, waitUntilDue } from './wait.ts'
import { Superseded } from './written-message.ts'

/** A message that an agent with a model works. */
export interface AgentMessage {
  agents: Agents
  channel: Channel
  message: WebhookMessage
}

type Ended = Extract<ModelCallState, { kind: 'ended' }>
export type NewTurn = Extract<ModelResult, { kind: 'answered' }>['turn']

/** Each run of a message, each of its turns and each text that its writer gives it before has a call of its own. */
export function callKeyOf({ _id, order, turns = [], changed }: Called): string {
  const text = turns.length > 0 || changed === undefined ? '' : `/${changed.by}`
  return `${_id}/${order}/${turns.length}${text}`
}

type Called = Pick<MessageRecord, '_id' | 'order' | 'turns'> & {
  changed?: MessageRecord['changed'] | undefined
}

/** Stores what the call of this key brought, or waits for it; undefined where none was started. */
export async function resultOfCall(
  run: MessageRun,
  found: AgentMessage,
  { key, store }: { key: string; store(turn: NewTurn): Promise<StepResult> },
): Promise<StepResult | undefined> {
  const { calls } = found.agents
  const call = calls.find(key)
  if (call === undefined) return undefined
  if (call.kind === 'asking')
    return { kind: 'pending', record: run.record, settled: call.settled, for: 'model' }
  const result = await takeResult(run, found, { call, store })
  calls.forget(key)
  return result
}

/** Starts a call of a model beside the run, which leaves. */
export function startCall(
  { record, options, leased }: MessageRun,
  { agents, channel, message }: AgentMessage,
  call: {
    key: string
    choices: number
    media?: MediaKind | undefined
    ask(limits: { timeoutMs: number; signal: AbortSignal }): Promise<ModelResult>
  },
): RunResult {
  if (!leased.isLeased()) throw new Superseded()
  const { turnMs, messageMs } = turnSettingsOf(channel.config)
  const now = options.now()
  const { key, choices, media, ask } = call
  const timeoutMs = Math.min(turnMs / choices, deadlineOf(record, { messageMs, now }) - now)
  const started = agents.calls.start({
    ...{ key, choices, media, timeoutMs },
    workspace: record.workspace,
    ended: leased.ended,
    ask: (signal) => ask({ timeoutMs, signal }),
  })
  if (started.kind === 'busy') return { kind: 'pending', record, settled: started.room, for: 'model' }
  agents.showTyping({ channel, record, message }, started.settled)
  return { kind: 'pending', record, settled: started.settled, for: 'model' }
}

/** The agent of the message's thread, and the models it may ask, as they are configured now. */
export async function loadAgent(
  { record }: MessageRun,
  { agents, channel }: AgentMessage,
): Promise<{ kind: 'loaded'; agent: Agent; choices: ModelChoice[] } | { kind: 'missing'; reason: string }> {
  const type = agentTypeOf(channel)
  if (type === undefined)
    return { kind: 'missing', reason: 'The handler of the channel is no agent any more.' }
  const { thread } = record
  const loaded = await agents.loadAgent({ channel, type, thread, notBefore: ranAgainAt(record) })
  if (loaded.kind === 'missing') return loaded
  const found = agents.choicesOf(loaded.agent)
  return found.kind === 'missing' ? found : { kind: 'loaded', agent: loaded.agent, choices: found.choices }
}

function takeResult(
  run: MessageRun,
  found: AgentMessage,
  { call: ended, store }: { call: Ended; store(turn: NewTurn): Promise<StepResult> },
): Promise<StepResult> {
  const { result } = ended
  switch (result.kind) {
    case 'answered':
      return store(result.turn)
    case 'refused': {
      const { code, reason } = result
      return code === BUDGET_SPENT
        ? stopForBudget(run, found, reason)
        : askAnother(run, found, { ended, result })
    }
    case 'retryable':
      return result.code === BUDGET_PENDING
        ? waitForBudget(run, result)
        : tryAgain(run, found, { ended, result })
  }
}

/** It is no try: what calls under way hold is given back, or spent, when they end. */
async function waitForBudget(
  { record, options }: MessageRun,
  { retryAfterSeconds = 0 }: Extract<ModelResult, { kind: 'retryable' }>,
): Promise<StepResult> {
  return { kind: 'wait', record, until: options.now() + retryAfterSeconds * 1_000, for: 'model' }
}

/** A budget is spent: the person is told so by the channel's fallback message, where there is one, once a day. */
export async function stopForBudget(
  run: MessageRun,
  found: AgentMessage,
  reason: string,
): Promise<StepResult> {
  const { record, options, calling } = run
  const { _id: id, workspace, channel, thread } = record
  const person = personOf(found.message, thread)
  const isReported =
    turnSettingsOf(found.channel.config).fallbackMessage !== '' &&
    (await calling(() => found.agents.usage.isFirstStopped({ workspace, channel, person, id })))
  const outcome = { kind: 'permanent' as const, code: BUDGET_SPENT, fault: 'channel' as const, reason }
  const attempt = attemptOf({ step: MODEL_STEP, outcome, at: options.now(), ms: 0 })
  return giveUp(run, found, { reason, attempt, isSilent: !isReported })
}

/** Another try, of this model or the next; where there is none in time, a bound is met. */
async function tryAgain(
  run: MessageRun,
  found: AgentMessage,
  { ended, result }: { ended: Ended; result: Extract<ModelResult, { kind: 'retryable' }> },
): Promise<StepResult> {
  const { record, options } = run
  const attempt = attemptAt(run, ended, result)
  const { turnMs, messageMs } = turnSettingsOf(found.channel.config)
  const now = options.now()
  const deadline = deadlineOf(withTry(record, attempt), { messageMs, now })
  const { tries, delay } = ended.isTimedOut
    ? { tries: nextChoice(record.tries, ended.choices), delay: 0 }
    : retryOf({ ...result, tries: record.tries, choices: ended.choices })
  const due = now + delay
  if (due >= deadline) {
    const reason = `${result.reason} Given up after ${messageMs / 1_000} seconds (messageTimeoutSeconds).`
    return giveUp(run, found, { reason, attempt })
  }
  if (tries === undefined) {
    const reason = `The model did not answer within ${turnMs / 1_000} seconds (turnTimeoutSeconds).`
    return giveUp(run, found, { reason, attempt })
  }
  return askWhenDue(run, { attempt, tries, due: delay === 0 ? undefined : due })
}

/** What this model refuses another may do. */
async function askAnother(
  run: MessageRun,
  found: AgentMessage,
  { ended, result }: { ended: Ended; result: Extract<ModelResult, { kind: 'refused' }> },
): Promise<StepResult> {
  const { record, options } = run
  const attempt = attemptAt(run, ended, result)
  const now = options.now()
  const { messageMs } = turnSettingsOf(found.channel.config)
  const { code, reason } = result
  const mayMend = hasRetryable(record)
  const next = afterRefusal({ tries: record.tries, choices: ended.choices, code, mayMend })
  const due = now + (next?.delay ?? 0)
  if (next === undefined || due >= deadlineOf(withTry(record, attempt), { messageMs, now }))
    return giveUp(run, found, { reason, attempt })
  return askWhenDue(run, { attempt, tries: next.tries, due: next.delay === 0 ? undefined : due })
}

/** Whether a model that was asked for this turn failed in a way that may mend. */
function hasRetryable({ attempts, turns = [], ...record }: MessageRecord): boolean {
  const since = Math.max(ranAgainAt(record), turns.at(-1)?.at.getTime() ?? 0)
  return attempts.some(
    ({ step, outcome, at }) => step === MODEL_STEP && outcome === 'retryable' && at.getTime() >= since,
  )
}

async function askWhenDue(
  run: MessageRun,
  { attempt, tries, due }: { attempt: Attempt; tries: number; due: number | undefined },
): Promise<StepResult> {
  await run.message.commitMerged((current) => letPass(run, modelTried(current, { attempt, tries, due })))
  return waitUntilDue(run) ?? { kind: 'next' }
}

/**
 * There is no answer: the thread goes to a person where the channel says so, the person who wrote gets the channel's
 * fallback message where there is one, then the message is dead.
 */
export async function giveUp(
  run: MessageRun,
  found: AgentMessage,
  { reason, attempt, isSilent = false }: { reason: string; attempt?: Attempt; isSilent?: boolean },
): Promise<StepResult> {
  const { channel } = found
  const { fallbackMessage, handsOffOnFailure } = turnSettingsOf(channel.config)
  if (handsOffOnFailure && run.record.inbound === true) await handOffUnanswered(run, found, reason)
  const ending: Ending = { state: 'dead', reason, fault: 'channel' }
  const farewell = isSilent ? '' : fallbackMessage
  const { maxText } = run.options.callbackOf(channel.callback)
  const decided = { ending, farewell, maxText, at: run.options.now() }
  await run.message.commitMerged((record) => endDecided(withTry(record, attempt), decided))
  return { kind: 'next' }
}

/** The channel's own system is told once, where there is one: the event of the thread says it for sure. */
async function handOffUnanswered(
  { record, calling }: MessageRun,
  { agents, channel, message }: AgentMessage,
  reason: string,
): Promise<void> {
  await calling(async () => agents.handOff?.({ record, channel, reason }))
  const id = `${record._id}:unanswered`
  void agents.notifyHandOff({ channel, messageId: record._id, message, id, reason })?.deliver()
}

function withTry(record: MessageRecord, attempt: Attempt | undefined): MessageRecord {
  return attempt === undefined ? record : { ...record, attempts: withAttempt(record.attempts, attempt) }
}

function attemptAt(
  { options }: MessageRun,
  { ms }: Ended,
  { kind, code, reason }: Exclude<ModelResult, { kind: 'answered' }>,
): Attempt {
  const outcome = {
    kind: kind === 'refused' ? ('permanent' as const) : kind,
    code,
    reason,
    error: reason,
    fault: 'channel' as const,
  }
  return attemptOf({ step: MODEL_STEP, outcome, at: options.now(), ms })
}
