import type { Agent } from '../agents/agent.ts'
import type { ConversationItem } from '../agents/conversation.ts'
import type { ModelChoice, ModelResult } from '../agents/model-client.ts'
import { agentTypeOf } from '../agents/turns/agents.ts'
import { boundReached, deadlineOf, MODEL_STEP } from '../agents/turns/bounds.ts'
import { personItems, turnItems } from '../agents/turns/conversation-items.ts'
import type { ModelCallState } from '../agents/turns/model-calls.ts'
import { choiceOf, nextChoice, retryOf } from '../agents/turns/model-retry.ts'
import { turnSettingsOf } from '../agents/turns/settings.ts'
import { findAudio } from '../channels/audio/find-audio.ts'
import type { Attempt, Ending, MessageRecord } from '../message/message-record.ts'
import { attemptOf, heard, modelTried, ranAgainAt, withAttempt } from '../message/progress.ts'
import { endDecided, turnStored } from '../message/turn-progress.ts'
import type { MessageRun } from './message-run.ts'
import { type StepResult, settleEndMerged } from './settle-attempt.ts'
import type { RunResult } from './thread-run.ts'
import { letPass, waitUntilDue } from './wait.ts'
import type { AgentMessage } from './work-in-turns.ts'
import { Superseded } from './written-message.ts'

const LOOKUP_AGAIN_MS = 1_000
const LOOKUP_FOR_MS = 10_000

type Ended = Extract<ModelCallState, { kind: 'ended' }>

/**
 * Has the model answer for the message's next turn. The call is made beside the run, which leaves; a later run finds
 * its result and stores it.
 */
export async function nextTurn(run: MessageRun, found: AgentMessage): Promise<StepResult> {
  const { record, options } = run
  const { agents, channel } = found
  const key = keyOf(record)
  const call = agents.calls.find(key)
  if (call?.kind === 'asking') return { kind: 'pending', record, settled: call.settled, for: 'model' }
  if (call?.kind === 'ended') {
    const result = await takeResult(run, found, { call, store: (turn) => storeTurn(run, found, turn) })
    agents.calls.forget(key)
    return result
  }
  const bound = boundReached(record, { settings: turnSettingsOf(channel.config), now: options.now() })
  if (bound !== undefined) return giveUp(run, found, { reason: bound })
  return (await gather(run, found)) ?? (await hear(run, found)) ?? ask(run, found)
}

/** A bound is met: the person gets the channel's fallback message where there is one, then the message is dead. */
export async function giveUp(
  run: MessageRun,
  { channel }: AgentMessage,
  { reason, attempt }: { reason: string; attempt?: Attempt },
): Promise<StepResult> {
  const ending: Ending = { state: 'dead', reason, fault: 'channel' }
  const farewell = turnSettingsOf(channel.config).fallbackMessage
  const at = run.options.now()
  await run.message.commitMerged((record) => endDecided(withTry(record, attempt), { ending, farewell, at }))
  return { kind: 'next' }
}

/** Each run of a message and each of its turns has a call of its own. */
function keyOf({ _id, order, turns = [] }: MessageRecord): string {
  return `${_id}/${order}/${turns.length}`
}

/** Before its first turn a message waits for others of its thread, where its channel says so. */
async function gather(run: MessageRun, { agents, channel }: AgentMessage): Promise<RunResult | undefined> {
  const { record, options } = run
  const { gatherMs } = turnSettingsOf(channel.config)
  if (gatherMs === 0 || record.turns !== undefined || record.lane !== undefined) return undefined
  const gathering = await run.calling(() => agents.gather(record, { gatherMs, now: options.now() }))
  if (gathering.kind === 'work') return undefined
  if (gathering.kind === 'wait') return { kind: 'wait', record, until: gathering.until, for: 'gathering' }
  return settleEndMerged(run, { state: 'done', gatheredInto: gathering.into }, (current) => current)
}

/** Before the first turn what is said in a message's audio is stored with it, where its assistant has a model that hears. */
async function hear(run: MessageRun, found: AgentMessage): Promise<StepResult | undefined> {
  const { record } = run
  const { agents } = found
  if (record.turns !== undefined || record.transcript !== undefined) return undefined
  if (findAudio(record) === undefined) return undefined
  const key = `${keyOf(record)}/audio`
  const call = agents.calls.find(key)
  if (call?.kind === 'asking') return { kind: 'pending', record, settled: call.settled, for: 'model' }
  if (call?.kind === 'ended') {
    const result = await takeResult(run, found, { call, store: (turn) => storeTranscript(run, turn.text) })
    agents.calls.forget(key)
    return result
  }
  const loaded = await run.calling(() => load(run, found))
  if (loaded.kind === 'missing' || !agents.hearing.canHear(loaded.agent)) return undefined
  const { agent } = loaded
  return start(run, found, {
    key,
    choices: 1,
    ask: (limits) => agents.hearing.hear({ agent, record, ...limits }),
  })
}

async function storeTranscript(run: MessageRun, text: string): Promise<StepResult> {
  await run.message.commitMerged((current) => heard(current, text))
  return { kind: 'next' }
}

/** Starts the call of the model whose try it is. Agent and task are read fresh. */
async function ask(run: MessageRun, found: AgentMessage): Promise<StepResult> {
  const { record } = run
  const { agents } = found
  const until = agents.calls.busyUntil(record.workspace)
  if (until !== undefined) return { kind: 'wait', record, until, for: 'model' }
  const loaded = await run.calling(() => load(run, found))
  if (loaded.kind === 'missing') return withoutAgent(run, loaded.reason)
  const { choices, agent } = loaded
  const choice = choices[choiceOf(record.tries, choices.length)] as ModelChoice
  const request = await run.calling(() => requestOf(run, found, agent))
  return start(run, found, {
    key: keyOf(record),
    choices: choices.length,
    ask: (limits) => agents.model.ask(choice, { ...request, ...limits }),
  })
}

/** Starts a call of a model beside the run, which leaves. */
function start(
  { record, options, leased }: MessageRun,
  { agents, channel }: AgentMessage,
  call: {
    key: string
    choices: number
    ask(limits: { timeoutMs: number; signal: AbortSignal }): Promise<ModelResult>
  },
): RunResult {
  if (!leased.isLeased()) throw new Superseded()
  const { turnMs, messageMs } = turnSettingsOf(channel.config)
  const now = options.now()
  const { key, choices, ask } = call
  const timeoutMs = Math.min(turnMs / choices, deadlineOf(record, { messageMs, now }) - now)
  const started = agents.calls.start({
    ...{ key, choices, timeoutMs },
    workspace: record.workspace,
    ended: leased.ended,
    ask: (signal) => ask({ timeoutMs, signal }),
  })
  if (started.kind === 'busy') return { kind: 'wait', record, until: started.until, for: 'model' }
  return { kind: 'pending', record, settled: started.settled, for: 'model' }
}

async function load(
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

/** What is not there may be configured in a moment. */
async function withoutAgent(run: MessageRun, reason: string): Promise<RunResult> {
  const { record, options } = run
  const now = options.now()
  const isNew = record.turns === undefined && now - record.receivedAt.getTime() < LOOKUP_FOR_MS
  if (isNew) return { kind: 'wait', record, until: now + LOOKUP_AGAIN_MS, for: 'configuration' }
  return settleDead(run, { reason })
}

async function requestOf({ record, options }: MessageRun, found: AgentMessage, agent: Agent) {
  const { agents, channel, message } = found
  const { _id: messageId, workspace } = record
  const { descriptions: tools } = await agents.openToolbox({ agent, channel, messageId, message })
  const earlier = await agents.readHistory(record, turnSettingsOf(channel.config))
  const { system, data } = agents.promptOf({ agent, channel, message, now: new Date(options.now()) })
  const facts: ConversationItem = { role: 'data', json: JSON.stringify(data) }
  const conversation = [...earlier, facts, ...personItems({ ...record, message }), ...turnItems(record)]
  return { workspace, system, conversation, tools }
}

type NewTurn = Extract<ModelResult, { kind: 'answered' }>['turn']

function takeResult(
  run: MessageRun,
  found: AgentMessage,
  { call: ended, store }: { call: Ended; store(turn: NewTurn): Promise<StepResult> },
): Promise<StepResult> {
  const { result } = ended
  switch (result.kind) {
    case 'answered':
      return store(result.turn)
    case 'refused':
      return settleDead(run, { reason: result.reason, attempt: attemptAt(run, ended, result) })
    case 'retryable':
      return tryAgain(run, found, { ended, result })
  }
}

/** Nothing of what a model answered leaves before it is stored. */
async function storeTurn(
  run: MessageRun,
  { channel, message }: AgentMessage,
  turn: NewTurn,
): Promise<StepResult> {
  const { options, record } = run
  const keys = options.callbacks[channel.callback].rateKeys?.(channel, message)
  const isFirst = record.turns === undefined && record.source === 'meta'
  if (isFirst && keys !== undefined) await options.sendRateLimit.count(keys)
  const at = options.now()
  await run.message.commitMerged((current) => turnStored(current, { turn, at }))
  return { kind: 'next' }
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
  await run.message.commitMerged((current) =>
    letPass(run, modelTried(current, { attempt, tries, due: delay === 0 ? undefined : due })),
  )
  return waitUntilDue(run) ?? { kind: 'next' }
}

function settleDead(
  run: MessageRun,
  { reason, attempt }: { reason: string; attempt?: Attempt },
): Promise<RunResult> {
  const ending: Ending = { state: 'dead', reason, fault: 'channel' }
  return settleEndMerged(run, ending, (record) => ({
    ...withTry(record, attempt),
    turns: record.turns ?? [],
    ending,
  }))
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
    fault: 'channel' as const,
  }
  return attemptOf({ step: MODEL_STEP, outcome, at: options.now(), ms })
}
