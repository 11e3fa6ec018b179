import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import { Problem } from '@parley/shared/problem'
import type { Channel } from '../../channels/channels.ts'
import type { ToolCall, ToolResult, Turn } from '../../message/turn.ts'
import { HANDED_OFF } from '../../message/turn-progress.ts'
import type { Agent, AgentKind } from '../agent.ts'
import { reasoningOf } from '../model/reasoning.ts'
import { seenBy } from '../model/seeing.ts'
import type { ConversationItem, ModelChoice, ModelRequest, ModelResult } from '../model-client.ts'
import { cutText } from '../prompt/texts.ts'
import type { Toolbox } from '../toolbox.ts'
import { whyNotRepeated } from '../tools/tool.ts'
import { imageItems } from '../tools/tool-images.ts'
import { type AgentParts, assistantChannel } from '../turns/agents.ts'
import { turnSettingsOf } from '../turns/bounds.ts'
import { dataItem, withServers } from '../turns/conversation-items.ts'
import { fitHistory } from '../turns/fit-history.ts'
import { afterRefusal, choiceOf, hasTriesLeft, nextChoice, retryOf } from '../turns/model-retry.ts'
import { unlessSilent } from '../turns/silence.ts'
import { estimatePrompt } from '../usage/estimate-tokens.ts'
import { BUDGET_PENDING, BUDGET_SPENT, type ModelUse } from '../usage/usage.ts'
import { isTaskTool, type ShownTask, shownTask, taskAfter } from './trial-task.ts'

/** Calls of earlier answers that have changed the task. */
const MAX_REPEATED = 100
/** The calls of one turn that are looked at, as many as a message's turn may have. */
const MAX_CALLS = 50

const NOT_CALLED =
  'This is a trial in which tools are not called. Say what you would do next as if this call had succeeded.'
const SHOWN = 'Sent.'

/** A conversation that an assistant is tried with. */
interface Trial {
  workspace: number
  assistantId: number
  kind: AgentKind
  /** The use of its tools: called, or only shown. */
  tools: 'call' | 'describe'
  /** The last one is what a person says. */
  messages: readonly SaidBefore[]
  /** Whom it is for, where they are somebody. */
  message?: WebhookMessage
  /** Where they write; left out for a channel that is not configured. */
  channel?: Channel
  /** The conversation before. */
  earlier?: ConversationItem[] | undefined
  /** The task at the beginning, as configuration has it; it stays as it is there. */
  task?: JsonObject | null
  /** The current time for the model. */
  at?: Date
  /** Of these actions those that whoever tries it may read: no other is called, or shown to the model. */
  readable(actions: readonly number[]): Promise<ReadonlySet<number>>
  /** Nobody waits for the result any more. */
  signal: AbortSignal
}

/** An earlier message of a trial, with the calls that the assistant made. */
interface SaidBefore {
  role: 'person' | 'assistant'
  text: string
  calls?: (ToolCall & { result: ToolResult })[] | undefined
}

/** How a trial ended, as a message would have, with its turns. */
interface TrialResult {
  state: 'done' | 'dead'
  reason?: string
  turns: Turn[]
  /** The missing parts of its tools, and why. */
  notes: readonly string[]
  /** The task as the trial has made it. */
  task: ShownTask | null
  /** No call was made, because a budget is spent. */
  isSpent?: boolean
}

type Parts = Pick<
  AgentParts,
  'loadAgent' | 'openToolbox' | 'toolImages' | 'choicesOf' | 'promptOf' | 'model' | 'usage'
>

/** One trial while it runs. */
interface Run extends Trial {
  parts: Parts
  channel: Channel
  id: string
  message: WebhookMessage
  /** As the tools that were called have made it. */
  task: JsonObject | null
  notes: readonly string[]
  startedAt: number
  deadline: number
}

/**
 * Has an assistant answer a conversation in turns, as it answers a message, with the bounds of a channel that sets none.
 * Nothing is sent to a person, and nothing is stored: the task is the trial's own, and goes on from what earlier calls have
 * made of it. Rejects with `forbidden` where the assistant has an action that may not be read and that could
 * be called, and with `unavailable`.
 */
export async function runTrial(parts: Parts, trial: Trial): Promise<TrialResult> {
  const { channel = assistantChannel(trial), task = null } = trial
  const id = `try-${randomUUID()}`
  const startedAt = Date.now()
  const deadline = startedAt + turnSettingsOf(assistantChannel(trial).config).messageMs
  const nobody: WebhookMessage = { extId: '', user: {}, thread: { extId: id, ctx: {} }, answer: {} }
  const { message = nobody } = trial
  const run: Run = { ...trial, parts, channel, id, message, task, notes: [], startedAt, deadline }
  await repeatTaskCalls(run)
  const result = await turnsOf(run)
  return { ...result, notes: run.notes, task: shownTask(run.task) }
}

/** The task is where the calls before have brought it. */
async function repeatTaskCalls(run: Run): Promise<void> {
  if (run.kind.task === undefined) return
  const calls = run.messages
    .flatMap(({ calls = [] }) => calls)
    .filter(({ result }) => result.state === 'done')
  for (const call of calls.filter(({ tool }) => isTaskTool(tool)).slice(0, MAX_REPEATED)) {
    const loaded = await load(run)
    if (loaded.kind === 'missing') return
    run.task = taskAfter(run.task, call, loaded.agent)?.task ?? null
  }
}

type Ended = Omit<TrialResult, 'notes' | 'task'>

async function turnsOf(run: Run): Promise<Ended> {
  const { maxTurns, messageMs } = turnSettingsOf(assistantChannel(run).config)
  const turns: Turn[] = []
  let isSpoken = false
  const dead = (reason: string): Ended => ({ state: 'dead', reason, turns })
  while (turns.length < maxTurns) {
    const loaded = await load(run)
    if (loaded.kind === 'missing') return dead(loaded.reason)
    if (loaded.hidden !== undefined && turns.length === 0)
      throw new Problem('forbidden', { detail: loaded.hidden })
    if (loaded.hidden !== undefined) return dead(loaded.hidden)
    const { toolbox, request, choices } = await requestOf(run, { ...loaded, turns })
    run.notes = toolbox.notes ?? []
    const answer = await ask(run, request, { choices, turn: turns.length, isSpoken })
    if (answer.kind !== 'answered') {
      const isSpent = turns.length === 0 && [BUDGET_SPENT, BUDGET_PENDING].includes(answer.code)
      return isSpent ? { ...dead(answer.reason), isSpent } : dead(answer.reason)
    }
    const calls = answer.turn.calls.slice(0, MAX_CALLS)
    const turn: Turn = { ...answer.turn, at: new Date(), calls: [] }
    turns.push(turn)
    isSpoken ||= turn.text.trim() !== ''
    try {
      for (const [at, call] of calls.entries()) {
        if (isOver(run)) return dead(`The trial did not come to an end within ${messageMs / 1_000} seconds.`)
        const {
          result,
          isHandOff,
          isShown = false,
        } = await given(run, toolbox, {
          agent: loaded.agent,
          call,
          turns,
          id: callId(run, turns.length - 1, at),
        })
        turn.calls.push({ ...call, result })
        isSpoken ||= isShown
        if (isHandOff) return { ...HANDED_OFF, turns }
      }
    } finally {
      toolbox.close?.()
    }
    if (calls.length === 0) return { state: 'done', turns }
  }
  return dead(`The agent did not come to an end within ${maxTurns} turns (maxTurns).`)
}

const isOver = ({ deadline, signal }: Run): boolean => signal.aborted || Date.now() >= deadline

/** The agent with the actions that may be read; `hidden` says which of those that it could call may not. */
async function load({ parts, channel, kind, id, startedAt, tools, readable, task }: Run) {
  const loaded = await parts.loadAgent({ channel, kind, thread: id, notBefore: startedAt, task })
  if (loaded.kind === 'missing') return loaded
  const { agent } = loaded
  const found = parts.choicesOf(agent)
  if (found.kind === 'missing') return found
  // A chat has no tools.
  const own = kind.tools === undefined ? [] : agent.actions
  const shown = await readable(own.map(({ _id }) => _id))
  const [actions, others] = [
    own.filter(({ _id }) => shown.has(_id)),
    own.filter(({ _id }) => !shown.has(_id)),
  ]
  const names = others.map(({ _id }) => `actions/${_id}`).join(', ')
  const isCalled = tools === 'call' && others.length > 0
  const hidden = isCalled ? `The role may not read ${names}, which the assistant would call.` : undefined
  return { ...found, agent: { ...agent, actions }, hidden }
}

async function requestOf(
  run: Run,
  { agent, choices, turns }: { agent: Agent; choices: ModelChoice[]; turns: Turn[] },
) {
  const { parts, channel, message, id, workspace, messages, signal } = run
  const toolbox = await parts.openToolbox({ agent, channel, message, messageId: id, thread: id })
  const { system, data } = parts.promptOf({ agent, channel, message, now: run.at ?? new Date(run.startedAt) })
  const said = messages.map(({ role, text, calls = [] }): ConversationItem => {
    const shown = cutText(text)
    return role === 'person' ? { role, text: shown } : { role, text: shown, calls }
  })
  const earlier = turns.map(
    ({ text, calls, ...turn }): ConversationItem => ({
      ...{ role: 'assistant', text, calls: calls.filter(hasResult) },
      ...reasoningOf(turn),
    }),
  )
  const conversation = [
    ...latestOf([...(run.earlier ?? []), ...said.slice(0, -1)], channel),
    dataItem(withServers(data, toolbox)),
    ...said.slice(-1),
    ...earlier,
    ...imageItems(parts.toolImages, madeIn(run, turns)),
  ]
  const request = { workspace, system, conversation, tools: toolbox.descriptions, signal }
  return { toolbox, choices, request }
}

const callId = ({ id }: Run, turn: number, call: number): string => `${id}:${turn + 1}:${call}`

const madeIn = (run: Run, turns: readonly Turn[]) =>
  turns.flatMap(({ calls }, turn) => calls.map(({ tool }, at) => ({ tool, id: callId(run, turn, at) })))

/** As many as a channel without settings gives a model. */
function latestOf(earlier: ConversationItem[], { config }: Pick<Channel, 'config'>): ConversationItem[] {
  const { historyTokens, historyLimit } = turnSettingsOf(config)
  const [summary, said] = [earlier.filter(isData), earlier.filter((item) => !isData(item))]
  const exchanges = said.slice(-historyLimit).map((item) => ({ items: [item] }))
  return [...summary, ...fitHistory(exchanges, historyTokens).flatMap(({ items }) => items)]
}

const isData = ({ role }: ConversationItem): boolean => role === 'data'

const hasResult = (call: ToolCall): call is ToolCall & { result: ToolResult } => call.result !== undefined

/** Tries each model as often as a message would, once around, while there is time. */
async function ask(
  run: Run,
  request: Omit<ModelRequest, 'timeoutMs'>,
  { choices, turn, isSpoken }: { choices: ModelChoice[]; turn: number; isSpoken: boolean },
): Promise<ModelResult> {
  const { parts, deadline, signal } = run
  const turnMs = turnSettingsOf(assistantChannel(run).config).turnMs / choices.length
  for (let tries = 0; ; ) {
    const timeoutMs = Math.max(1, Math.min(turnMs, deadline - Date.now()))
    const position = choiceOf(tries, choices.length)
    const choice = choices[position] as ModelChoice
    const silence = { isSpoken, isLast: position === choices.length - 1 }
    const result = await parts.usage.meter(useOf(run, { choice, turn, tries }), {
      ...{ timeoutMs, signal },
      estimate: () => ({ prompt: estimatePrompt(choice, request), maxOutputTokens: choice.maxOutputTokens }),
      ask: async ({ received: _received, ...limits }) =>
        unlessSilent(
          await parts.model.ask({ ...choice, ...limits }, { ...seenBy(choice, request), timeoutMs }),
          silence,
        ),
    })
    if (result.kind === 'answered' || signal.aborted) return result
    const next = nextTry(result, { tries, choices: choices.length })
    if (next === undefined || Date.now() + next.delay >= deadline) return result
    await pause(next.delay, undefined, { signal }).catch(() => {})
    tries = next.tries
  }
}

/** A trial is of no channel. */
function useOf(
  { kind, id, workspace, assistantId: assistant }: Run,
  {
    choice: { provider, model, isDeployments = false },
    turn,
    tries,
  }: { choice: ModelChoice; turn: number; tries: number },
): ModelUse {
  const answer = `${id}:${turn}`
  const { config } = assistantChannel({ kind, workspace, assistantId: assistant })
  return {
    ...{ workspace, channel: null, assistant, config, provider, model, isDeployments, answer },
    failure: `${answer}:${tries}`,
    message: id,
    ofModel: id,
    of: 'turn',
  }
}

/** Returns the next try; after a timeout the same model is not tried again. */
function nextTry(
  result: Exclude<ModelResult, { kind: 'answered' }>,
  { tries, choices }: { tries: number; choices: number },
): { tries: number; delay: number } | undefined {
  const { code } = result
  if (result.kind === 'refused')
    return code === BUDGET_SPENT ? undefined : afterRefusal({ tries, choices, code, mayMend: false })
  const { retryAfterSeconds = 0 } = result
  if (code === BUDGET_PENDING) return { tries, delay: retryAfterSeconds * 1_000 }
  if (code === 'timeout') {
    const next = nextChoice(tries, choices)
    return next === undefined ? undefined : { tries: next, delay: 0 }
  }
  const next = retryOf({ tries, choices, retryAfterSeconds })
  return hasTriesLeft(next.tries, choices) ? next : undefined
}

/** Returns the result of a call for the model. Calls that send something to a person are only shown. */
async function given(
  run: Run,
  toolbox: Toolbox,
  { agent, call, turns, id }: { agent: Agent; call: Omit<ToolCall, 'result'>; turns: Turn[]; id: string },
): Promise<{ result: ToolResult; isHandOff?: true; isShown?: true }> {
  const { tools } = run
  const repeated = whyNotRepeated(turns, call)
  if (repeated !== undefined) return { result: { state: 'failed', text: repeated } }
  const opened = await toolbox.open({ tool: call.tool, args: call.args })
  if (opened.kind === 'invalid') return { result: { state: 'failed', text: opened.reason } }
  if (opened.kind === 'say') return { result: { state: 'done', text: SHOWN }, isShown: true }
  if (opened.kind === 'handOff')
    return { result: { state: 'done', text: 'A person takes over.' }, isHandOff: true }
  const isOwn = toolbox.sourceOf(call.tool)?.action === undefined
  const changed = isOwn ? taskAfter(run.task, call, agent) : undefined
  if (changed !== undefined) {
    run.task = changed.task
    return { result: changed.result }
  }
  if (tools === 'describe') return { result: { state: 'done', text: NOT_CALLED } }
  const outcome = await opened.deliver(id, { leftMs: Math.max(1, run.deadline - Date.now()) })
  if (outcome.kind !== 'unreached') return { result: outcome.result }
  return { result: { state: 'failed', text: outcome.reason } }
}
