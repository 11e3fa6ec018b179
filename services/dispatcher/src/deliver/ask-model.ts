import { defined } from '@parley/shared/defined'
import { kindOf } from '../agents/kinds/kinds.ts'
import type { MediaKind } from '../agents/model/media-slots.ts'
import { isSeeing } from '../agents/model/seeing.ts'
import type { ModelChoice, ModelRequest, ModelResult } from '../agents/model-client.ts'
import type { Toolbox } from '../agents/toolbox.ts'
import { deadlineOf, turnSettingsOf } from '../agents/turns/bounds.ts'
import { modelRequest } from '../agents/turns/model-request.ts'
import { choiceOf } from '../agents/turns/model-retry.ts'
import { hasSpoken, unlessSilent } from '../agents/turns/silence.ts'
import { personOf } from '../agents/usage/budgets-of.ts'
import { estimatePrompt } from '../agents/usage/estimate-tokens.ts'
import { type MeteredCall, useForTurn } from '../agents/usage/usage.ts'
import { ranAgainAt } from '../message/progress.ts'
import { audioKeyOf, callKeyOf } from './decide-turn.ts'
import type { MessageRun } from './message-run.ts'
import type { StepResult } from './settle-attempt.ts'
import type { LoadedAgent } from './step.ts'
import type { RunResult } from './thread-run.ts'
import { Superseded } from './written-message.ts'

/** The agent of the message's thread, and the models it may ask, as they are configured now. */
export async function loadAgent({ record, agents, channel, calling }: MessageRun): Promise<LoadedAgent> {
  const kind = kindOf(channel)
  if (kind === undefined)
    return { kind: 'missing', reason: 'The handler of the channel is no agent any more.' }
  const { thread } = record
  const query = { channel, kind, thread, notBefore: ranAgainAt(record) }
  const loaded = await calling(() => agents.loadAgent(query))
  if (loaded.kind === 'missing') return loaded
  const { agent } = loaded
  const found = agents.choicesOf(agent)
  if (found.kind === 'missing') return found
  return { kind: 'loaded', agent, choices: found.choices, canHear: agents.hearing.canHear(agent) }
}

/**
 * Starts the call of the model whose try it is, beside the run, which leaves; a later run finds its result. Without an
 * agent, or where a budget is known to be spent, that is made known instead.
 */
export async function askModel(run: MessageRun): Promise<StepResult> {
  // The call refers to these alone, not to the run, which would stay in memory while the model answers.
  const { record, agents, lookedUp, of } = run
  const room = agents.calls.room({ workspace: record.workspace, ended: run.leased.ended })
  if (room !== undefined) return { kind: 'pending', record, settled: room, for: 'model' }
  lookedUp.agent ??= await loadAgent(run)
  if (lookedUp.agent.kind === 'missing') return { kind: 'next' }
  const { choices, agent } = lookedUp.agent
  const position = choiceOf(record.tries, choices.length)
  const choice = choices[position] as ModelChoice
  const silence = { isSpoken: hasSpoken(record), isLast: position === choices.length - 1 }
  const { config } = of.channel
  const person = personOf(of.message, record.thread)
  const use = useForTurn(record, { assistant: agent.assistant._id, choice, config, person })
  lookedUp.budget = agents.usage.spent(use)
  if (lookedUp.budget !== undefined) return { kind: 'next' }
  const now = run.options.now()
  const read = () => modelRequest(agents, { ...of, record, agent, now })
  const first = await run.calling(read)
  return startCall(run, {
    key: callKeyOf(record),
    choices: choices.length,
    media: isSeeing(choice, first.request) ? 'images' : undefined,
    ask: async (limits) => {
      const began = performance.now()
      const isSummarised = await agents.summarise({
        ...{ record, choice, use, ...limits },
        limits: turnSettingsOf(config),
      })
      const { request, toolbox } = isSummarised ? await read() : first
      const timeoutMs = Math.max(1, limits.timeoutMs - (performance.now() - began))
      return agents.usage.meter(use, {
        ...{ ...limits, timeoutMs },
        estimate: () => ({
          prompt: estimatePrompt(choice, request),
          maxOutputTokens: choice.maxOutputTokens,
        }),
        ask: async (metered) => {
          const asked = { choice, request: { ...request, ...limits, timeoutMs }, metered }
          return withSources(
            unlessSilent(await askPassingOn({ record, agents, channel: of.channel }, asked), silence),
            toolbox,
          )
        },
      })
    },
  })
}

/** Starts the call that hears a message's audio. */
export async function transcribe(run: MessageRun): Promise<StepResult> {
  const { record, agents, channel, lookedUp } = run
  if (lookedUp.agent?.kind !== 'loaded') return { kind: 'next' }
  const { agent } = lookedUp.agent
  const person = personOf(run.of.message, record.thread)
  return startCall(run, {
    key: audioKeyOf(record),
    choices: 1,
    media: 'audio',
    ask: (limits) => agents.hearing.hear({ ...{ agent, record, person, ...limits }, config: channel.config }),
  })
}

/** Starts a call of a model beside the run, which leaves. */
function startCall(
  { record, options, leased, agents, of }: MessageRun,
  call: {
    key: string
    choices: number
    media?: MediaKind | undefined
    ask(limits: { timeoutMs: number; signal: AbortSignal }): Promise<ModelResult>
  },
): RunResult {
  if (!leased.isLeased()) throw new Superseded()
  const { channel, message } = of
  const { turnMs, messageMs } = turnSettingsOf(channel.config)
  const now = options.now()
  const { key, choices, media, ask } = call
  const timeoutMs = Math.min(turnMs / choices, deadlineOf(record, { messageMs, now }) - now)
  const started = agents.calls.start({
    ...{ key, choices, media, timeoutMs },
    message: record._id,
    workspace: record.workspace,
    ended: leased.ended,
    ask: (signal) => ask({ timeoutMs, signal }),
  })
  if (started.kind === 'busy') return { kind: 'pending', record, settled: started.room, for: 'model' }
  agents.showTyping({ channel, record, message }, started.settled)
  return { kind: 'pending', record, settled: started.settled, for: 'model' }
}

/** Where the channel streams tokens, what the model says is passed on while it says it, and before it is stored. */
async function askPassingOn(
  { record, agents, channel }: Pick<MessageRun, 'record' | 'agents' | 'channel'>,
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

/** Adds the sources of the tools: they may change before the calls are made, as a server's list may be missing. */
function withSources(result: ModelResult, toolbox: Pick<Toolbox, 'sourceOf'>): ModelResult {
  if (result.kind !== 'answered') return result
  const calls = result.turn.calls.map((call) => ({
    ...call,
    ...defined({ of: toolbox.sourceOf(call.tool) }),
  }))
  return { ...result, turn: { ...result.turn, calls } }
}
