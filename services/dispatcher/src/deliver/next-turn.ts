import { defined } from '@parley/shared/defined'
import { markedUp } from '@parley/shared/providers/marked-up'
import type { Agent } from '../agents/agent.ts'
import { isSeeing } from '../agents/model/seeing.ts'
import type { ModelChoice, ModelRequest, ModelResult } from '../agents/model-client.ts'
import type { Toolbox } from '../agents/toolbox.ts'
import { imageItems } from '../agents/tools/tool-images.ts'
import { boundReached, turnSettingsOf } from '../agents/turns/bounds.ts'
import { dataItem, personItems, turnItems, withServers } from '../agents/turns/conversation-items.ts'
import { choiceOf } from '../agents/turns/model-retry.ts'
import { hasSpoken, unlessSilent } from '../agents/turns/silence.ts'
import { personOf } from '../agents/usage/budgets-of.ts'
import { estimatePrompt } from '../agents/usage/estimate-tokens.ts'
import { type MeteredCall, useForTurn } from '../agents/usage/usage.ts'
import { findAudio } from '../channels/media/find-media.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { hasTurns, heard, TAKEN_BACK } from '../message/progress.ts'
import { isFromProvider } from '../message/received-content.ts'
import { turnStored } from '../message/turn-progress.ts'
import { quotedBy } from '../thread-log/quoted-messages.ts'
import type { MessageRun } from './message-run.ts'
import {
  type AgentMessage,
  callKeyOf,
  giveUp,
  loadAgent,
  type NewTurn,
  resultOfCall,
  startCall,
  stopForBudget,
} from './model-call.ts'
import { type StepResult, settleEndMerged, settleTakenOver } from './settle-attempt.ts'
import { Superseded } from './written-message.ts'

const audioKeyOf = (record: MessageRecord): string => `${callKeyOf(record)}/audio`

/**
 * Has the model answer for the message's next turn. The call is made beside the run, which leaves; a later run finds
 * its result and stores it.
 */
export async function nextTurn(run: MessageRun, found: AgentMessage): Promise<StepResult> {
  const { record, options } = run
  const { channel } = found
  const key = callKeyOf(record)
  // What it was asked with before its writer changed it is not answered.
  const before = callKeyOf({ ...record, changed: undefined })
  if (before !== key) found.agents.calls.forget(before)
  const result = await resultOfCall(run, found, { key, store: (turn) => storeTurn(run, found, turn) })
  if (result !== undefined) return result
  if (!isHearing(run, found) && (await run.isWithPerson())) return settleTakenOver(run)
  const bound = boundReached(record, { settings: turnSettingsOf(channel.config), now: options.now() })
  if (bound !== undefined) return giveUp(run, found, { reason: bound })
  return (await gather(run, found)) ?? (await hear(run, found)) ?? ask(run, found)
}

/** Before its first turn a message waits for others of its thread, where its channel says so. */
async function gather(run: MessageRun, found: AgentMessage): Promise<StepResult | undefined> {
  const { agents, channel } = found
  const { record, options } = run
  const { gatherMs } = turnSettingsOf(channel.config)
  if (hasTurns(record)) return undefined
  if (gatherMs === 0 || record.lane !== undefined) return unlessTakenBack(run)
  const gathering = await run.calling(() => agents.gather(record, { gatherMs, now: options.now() }))
  if (gathering.kind === 'work') return gathering.isAlone ? unlessTakenBack(run) : undefined
  if (gathering.kind === 'wait') return { kind: 'wait', record, until: gathering.until, for: 'gathering' }
  // The one that is answered reads what was said in the others, where that can be heard at once.
  const heard = forgetFailedHearing(run, found) ? undefined : await hear(run, found)
  return heard ?? settleEndMerged(run, { state: 'done', gatheredInto: gathering.into }, (current) => current)
}

/** Nobody is asked about what its writer took back before. */
function unlessTakenBack(run: MessageRun): Promise<StepResult> | undefined {
  if (run.record.changed?.isDeleted !== true) return undefined
  return settleEndMerged(run, TAKEN_BACK, (current) => current)
}

/** Starts the call of the model whose try it is. Agent and task are read fresh. */
async function ask(run: MessageRun, found: AgentMessage): Promise<StepResult> {
  const { record } = run
  const { agents } = found
  const room = agents.calls.room({ workspace: record.workspace, ended: run.leased.ended })
  if (room !== undefined) return { kind: 'pending', record, settled: room, for: 'model' }
  const loaded = await run.calling(() => loadAgent(run, found))
  if (loaded.kind === 'missing') return withoutAgent(run, found, loaded.reason)
  const { choices, agent } = loaded
  const position = choiceOf(record.tries, choices.length)
  const choice = choices[position] as ModelChoice
  const silence = { isSpoken: hasSpoken(record), isLast: position === choices.length - 1 }
  const { config } = found.channel
  const person = personOf(found.message, record.thread)
  const use = useForTurn(record, { assistant: agent.assistant._id, choice, config, person })
  const spent = agents.usage.spent(use)
  if (spent !== undefined) return stopForBudget(run, found, spent)
  const { request, toolbox } = await run.calling(() => requestOf(run, found, agent))
  return startCall(run, found, {
    key: callKeyOf(record),
    choices: choices.length,
    media: isSeeing(choice, request) ? 'images' : undefined,
    ask: (limits) =>
      agents.usage.meter(use, {
        ...limits,
        estimate: () => ({
          prompt: estimatePrompt(choice, request),
          maxOutputTokens: choice.maxOutputTokens,
        }),
        ask: async (metered) => {
          const asked = { choice, request: { ...request, ...limits }, metered }
          return withSources(unlessSilent(await askPassingOn(run, found, asked), silence), toolbox)
        },
      }),
  })
}

/** Where the channel streams tokens, what the model says is passed on while it says it, and before it is stored. */
async function askPassingOn(
  { record }: MessageRun,
  { agents, channel }: AgentMessage,
  of: { choice: ModelChoice; request: ModelRequest; metered: Parameters<MeteredCall['ask']>[0] },
): Promise<ModelResult> {
  const { request } = of
  const { received, ...limits } = of.metered
  const choice = { ...of.choice, ...limits }
  const { deltas } = agents
  if (deltas === undefined || !turnSettingsOf(channel.config).streamsTokens)
    return agents.askSeeing(choice, { ...request, channel })
  const { _id: message, workspace, channel: name, thread, turns = [] } = record
  const said = deltas.begin({ workspace, message, channel: name, thread, turn: turns.length })
  const onDelta = (text: string) => {
    received(text)
    said.push(text)
  }
  const result = await agents.askSeeing(choice, { ...request, channel, onDelta })
  await said.end()
  return result
}

/** What is not there may be configured in a moment. */
async function withoutAgent(run: MessageRun, found: AgentMessage, reason: string): Promise<StepResult> {
  const { record, options } = run
  const { times } = options
  const now = options.now()
  const isNew = !hasTurns(record) && now - record.receivedAt.getTime() < times.lookUpFor
  if (isNew) return { kind: 'wait', record, until: now + times.lookUpAgain, for: 'configuration' }
  return giveUp(run, found, { reason })
}

async function requestOf({ record, options }: MessageRun, found: AgentMessage, agent: Agent) {
  const { agents, channel, message } = found
  const { _id: messageId, workspace, thread } = record
  const toolbox = await agents.openToolbox({ agent, channel, messageId, thread, message })
  const earlier = await agents.readHistory(record, turnSettingsOf(channel.config))
  const quoted = await quotedBy(agents.readQuoted, record, message)
  const { system, data } = agents.promptOf({ agent, channel, message, now: new Date(options.now()) })
  const conversation = [
    ...earlier,
    dataItem(withServers(data, toolbox)),
    ...personItems({ ...record, message, quoted }),
    ...turnItems(record, { isCurrent: true }),
    ...imageItems(agents.toolImages, callsOf(record)),
  ]
  return { request: { workspace, system, conversation, tools: toolbox.descriptions }, toolbox }
}

/** The calls that were made of a message, by the ids of their sends. */
function callsOf({ sends, turns = [] }: MessageRecord): { tool: string; id: string }[] {
  return sends.flatMap(({ id, of }) => {
    const call = of?.call === undefined ? undefined : turns[of.turn]?.calls[of.call]
    return call === undefined ? [] : [{ id, tool: call.tool }]
  })
}

/** What the names stand for may change until the calls are made: a server's list may be missing for a while. */
function withSources(result: ModelResult, toolbox: Pick<Toolbox, 'sourceOf'>): ModelResult {
  if (result.kind !== 'answered') return result
  const calls = result.turn.calls.map((call) => ({
    ...call,
    ...defined({ of: toolbox.sourceOf(call.tool) }),
  }))
  return { ...result, turn: { ...result.turn, calls } }
}

/** Nothing of what a model answered leaves before it is stored. */
async function storeTurn(
  run: MessageRun,
  { channel, message }: AgentMessage,
  turn: NewTurn,
): Promise<StepResult> {
  const { options, record } = run
  const { rateKeys, maxText } = options.callbackOf(channel.callback)
  const keys = rateKeys?.(channel, message)
  const isFirst = !hasTurns(record) && isFromProvider(record)
  if (isFirst && keys !== undefined) await options.sendRateLimit.count(keys)
  const at = options.now()
  const write = (text: string) => markedUp(text, channel)
  const key = callKeyOf(record)
  await run.message.commitMerged((current) => {
    // Its writer has changed it since it was asked: it is asked anew.
    if (callKeyOf(current) !== key) throw new Superseded()
    return turnStored(current, { turn, at, maxText, write })
  })
  return { kind: 'next' }
}

/** Before the first turn what is said in a message's audio is stored with it, where its assistant has a model that hears. */
async function hear(run: MessageRun, found: AgentMessage): Promise<StepResult | undefined> {
  const { record } = run
  const { agents, channel, message } = found
  if (hasTurns(record) || record.transcript !== undefined) return undefined
  if (findAudio(record) === undefined) return undefined
  const key = audioKeyOf(record)
  const result = await resultOfCall(run, found, { key, store: ({ text }) => storeTranscript(run, text) })
  if (result !== undefined) return result
  const loaded = await run.calling(() => loadAgent(run, found))
  if (loaded.kind === 'missing' || !agents.hearing.canHear(loaded.agent)) return undefined
  const { agent } = loaded
  return startCall(run, found, {
    key,
    choices: 1,
    media: 'audio',
    ask: (limits) =>
      agents.hearing.hear({
        ...{ agent, record, ...limits },
        config: channel.config,
        person: personOf(message, record.thread),
      }),
  })
}

/**
 * Whether the call that hears a message's audio has failed, which is forgotten then: one that is answered with others is
 * not asked for again.
 */
function forgetFailedHearing({ record }: MessageRun, { agents }: AgentMessage): boolean {
  const key = audioKeyOf(record)
  const call = agents.calls.find(key)
  if (call?.kind !== 'ended' || call.result.kind === 'answered') return false
  agents.calls.forget(key)
  return true
}

async function storeTranscript(run: MessageRun, text: string): Promise<StepResult> {
  await run.message.commitMerged((current) => heard(current, text))
  return { kind: 'next' }
}

/** Whether the call that hears a message's audio was started, and its result is not stored yet. */
function isHearing({ record }: MessageRun, { agents }: AgentMessage): boolean {
  return agents.calls.find(audioKeyOf(record)) !== undefined
}
