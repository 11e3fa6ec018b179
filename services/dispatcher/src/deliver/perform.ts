import { defined } from '@parley/shared/defined'
import type { WebhookMessage } from '@parley/shared/message'
import { markedUp } from '@parley/shared/providers/marked-up'
import { turnSettingsOf } from '../agents/turns/bounds.ts'
import { handOverText } from '../agents/turns/hand-over-text.ts'
import { personOf } from '../agents/usage/budgets-of.ts'
import { callEndOf } from '../channels/endpoints/endpoints.ts'
import { quotedBy } from '../conversations/quoted-messages.ts'
import {
  begun,
  hasTurns,
  heard,
  modelTried,
  postponed,
  ranAgainAt,
  SCHEDULE_FULL,
} from '../message/progress.ts'
import { isFromProvider } from '../message/received-content.ts'
import { endDecided, turnStored } from '../message/turn-progress.ts'
import { askModel, loadAgent, transcribe } from './ask-model.ts'
import { callKeyOf, withTry } from './decide-turn.ts'
import { makeCall } from './make-call.ts'
import type { MessageRun } from './message-run.ts'
import { sendNext } from './send.ts'
import { type StepResult, settleEnd, settleEndMerged, settleFailed, settleResumed } from './settle-attempt.ts'
import type { LookedUp, Planned, Step, StepOf } from './step.ts'
import { waitFor } from './thread-run.ts'
import { letPass, waitForEndpoint } from './wait.ts'
import { Superseded } from './written-message.ts'

type Performed = StepResult | Promise<StepResult>

const NEXT = { kind: 'next' } as const

/** Does one thing in the world, and writes what came of it or makes it known. Which thing that is `decide` has said. */
export function perform(run: MessageRun, step: Step): Performed {
  const performed = (PERFORM[step.kind] as (run: MessageRun, step: Step) => Performed)(run, step)
  return step.takes === undefined ? performed : taken(run, step.takes, performed)
}

async function taken(run: MessageRun, call: string, performed: Performed): Promise<StepResult> {
  const result = await performed
  run.agents.calls.forget(call)
  return result
}

const PERFORM: { [Kind in Step['kind']]: (run: MessageRun, step: StepOf<Kind>) => Performed } = {
  async wait(run, { until, for: waitingFor, planned }) {
    await storeHandled(run, planned)
    return { kind: 'wait', record: run.record, until, for: waitingFor }
  },
  readAgain: (_run, { at, for: waitingFor }) => ({ kind: 'reload', at, for: waitingFor }),
  schedule,
  async begin(run) {
    await run.message.commitUnderLease(begun(run.record))
    return NEXT
  },
  waitForModel: (run, { settled }) => ({ kind: 'pending', record: run.record, settled, for: 'model' }),
  waitForEndpoint: (run, { admission }) => waitForEndpoint(run, admission),
  findChannel,
  lookUpPerson: async (run) => found(run, { isWithPerson: await run.isWithPerson() }),
  lookUpGathering,
  loadAgent: async (run) => found(run, { agent: await loadAgent(run) }),
  lookUpStopped,
  checkFunctions,
  askHandler,
  transcribe,
  askModel,
  plan(run, { planned }) {
    run.take(planned)
    return found(run, { isPlanned: true })
  },
  storeTurn,
  async storeTranscript(run, { text }) {
    await run.message.commitMerged((record) => heard(record, text))
    return NEXT
  },
  async retryModel(run, tried) {
    await run.message.commitMerged((record) => letPass(run, modelTried(record, tried)))
    return NEXT
  },
  send: (run, { index }) => {
    const { sends } = run.record
    const send = sends[index]
    return send === undefined ? NEXT : sendNext(run, { ...run.of, sends }, { index, send })
  },
  async call(run, { index }) {
    const send = run.record.sends[index]
    const result = send === undefined ? NEXT : await makeCall(run, { index, send })
    // The task may have moved.
    return result.kind === 'next' ? found(run, { agent: undefined, budget: undefined }) : result
  },
  giveUp,
  async fail(run, { planned, ...failed }) {
    await storeHandled(run, planned)
    const result = await settleFailed(run, failed)
    return result.kind === 'next' ? found(run, { handled: undefined, check: undefined }) : result
  },
  resume: (run) => settleResumed(run),
  end: (run, { end, answer, isMerged }) =>
    isMerged ? settleEndMerged(run, end) : settleEnd(run, end, answer),
}

/** It is taken out of its thread's line. */
async function schedule(run: MessageRun, { until }: StepOf<'schedule'>): Promise<StepResult> {
  const { record, options } = run
  if (await run.calling(() => options.isScheduleFull(record.workspace)))
    return settleEnd(run, { state: 'dead', reason: SCHEDULE_FULL, fault: 'caller' })
  const reason = `It is sent at ${new Date(until).toISOString()}.`
  const progress = postponed(record, { due: until, waitingFor: 'schedule', reason })
  await run.message.commitUnderLease({ ...progress, lane: record._id })
  return { kind: 'reload', at: until, for: 'schedule' }
}

function found(run: MessageRun, lookedUp: LookedUp): StepResult {
  Object.assign(run.lookedUp, lookedUp)
  return NEXT
}

/** Stores a handler's answer while the message waits for something else, so that the handler is not asked again. */
async function storeHandled(run: MessageRun, planned: Planned | undefined): Promise<void> {
  if (planned?.answer === undefined) return
  run.take(planned)
  await run.storeAnswer()
}

/** Whoever runs a message again may have mended something a moment ago. */
const needsOf = ({ record }: MessageRun) => ({ notBefore: ranAgainAt(record) })

async function findChannel(run: MessageRun): Promise<StepResult> {
  const { workspace, channel: name } = run.record
  const channel = (await run.options.channels.find(workspace, name, needsOf(run))) ?? null
  run.isPassable = channel?.config.ordered === false
  return found(run, { channel })
}

async function lookUpGathering(run: MessageRun): Promise<StepResult> {
  const { record, options, agents, calling } = run
  const { gatherMs } = turnSettingsOf(run.channel.config)
  const gathering = await calling(() => agents.gather(record, { gatherMs, now: options.now() }))
  return found(run, { gathering })
}

async function lookUpStopped(run: MessageRun): Promise<StepResult> {
  const { record, agents, calling } = run
  const { _id: id, workspace, channel, thread } = record
  const person = personOf(run.of.message, thread)
  const isFirstStopped = await calling(() => agents.usage.isFirstStopped({ workspace, channel, person, id }))
  return found(run, { isFirstStopped })
}

/** Looks at the functions of a plan, as far as the first that can't be called. */
async function checkFunctions(run: MessageRun, { planned }: StepOf<'checkFunctions'>): Promise<StepResult> {
  const { record, calling, options } = run
  const { sends, channel, message } = planned
  const started = performance.now()
  for (const { id, content } of sends) {
    if (content.kind !== 'function') continue
    const call = { channel, message, messageId: record._id, id, content }
    const failure = await calling(() => options.functions.check(call, needsOf(run)))
    if (failure === undefined) continue
    return found(run, { check: { kind: 'failed', id, failure, ms: performance.now() - started } })
  }
  return found(run, { check: { kind: 'fine' } })
}

async function askHandler(run: MessageRun): Promise<StepResult> {
  const { leased } = run
  const started = performance.now()
  if (!leased.isLeased()) throw new Superseded()
  const handled = await handledBy(run)
  if (handled.kind !== 'answer' && leased.handedOver.aborted) throw new Superseded()
  return found(run, { handled: { ...handled, ms: performance.now() - started } })
}

/** Built-in agents are called whatever happens; an endpoint, when it may be. */
async function handledBy(run: MessageRun) {
  const { record, calling, leased, options } = run
  const { channel, message } = run.of
  const { handle, endpoints, readQuoted } = options
  const signal = leased.handedOver
  const handled = (message: WebhookMessage) => calling(() => handle({ channel, record, message, signal }))
  const { workspace, handlerUrl: url } = channel
  if (!/^https?:/.test(url)) return handled(message)
  const quoted = await quotedBy(readQuoted, record, message)
  const admission = await waitFor(calling, endpoints.enter({ workspace, url }))
  if (admission.kind === 'wait') return admission
  try {
    const result = await handled({ ...message, ...defined({ quoted }) })
    if (result.kind !== 'busy' && !signal.aborted) admission.leave(callEndOf(result))
    return result
  } finally {
    admission.leave('unknown')
  }
}

/** Nothing of what a model answered leaves before it is stored. */
async function storeTurn(run: MessageRun, { turn }: StepOf<'storeTurn'>): Promise<StepResult> {
  const { options, record } = run
  const { channel, message } = run.of
  const { rateKeys, maxText } = options.callbackOf(channel.callback)
  const keys = rateKeys?.(channel, message)
  const isFirst = !hasTurns(record) && isFromProvider(record)
  if (isFirst && keys !== undefined) await options.sendRateLimit.count(keys)
  const at = options.now()
  const write = (text: string) => markedUp(text, channel)
  const more = handOverText(turn, turnSettingsOf(channel.config))
  const key = callKeyOf(record)
  await run.message.commitMerged((current) => {
    // Its writer has changed it since it was asked: it is asked anew.
    if (callKeyOf(current) !== key) throw new Superseded()
    return turnStored(current, { turn, at, maxText, write, more })
  })
  return NEXT
}

/**
 * There is no answer: the thread goes to a person where the channel says so, the person who wrote gets the channel's
 * fallback message where there is one, then the message is dead.
 */
async function giveUp(
  run: MessageRun,
  { reason, attempt, isSilent = false }: StepOf<'giveUp'>,
): Promise<StepResult> {
  const { options, channel } = run
  const { fallbackMessage, handsOffOnFailure } = turnSettingsOf(channel.config)
  if (handsOffOnFailure && run.record.inbound === true) await handOffUnanswered(run, reason)
  const farewell = isSilent ? '' : fallbackMessage
  const { maxText } = options.callbackOf(channel.callback)
  const ending = { state: 'dead', reason, fault: 'channel' } as const
  const decided = { ending, farewell, maxText, at: options.now() }
  await run.message.commitMerged((record) => endDecided(withTry(record, attempt), decided))
  return NEXT
}

/** The channel's own system is told once, where there is one: the event of the thread says it for sure. */
async function handOffUnanswered({ record, calling, agents, of }: MessageRun, reason: string): Promise<void> {
  const { channel, message } = of
  await calling(async () => agents.handOff?.({ record, channel, reason }))
  const id = `${record._id}:unanswered`
  void agents.notifyHandOff({ channel, messageId: record._id, message, id, reason })?.deliver()
}
