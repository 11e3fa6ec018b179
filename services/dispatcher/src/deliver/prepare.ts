import { defined } from '@parley/shared/defined'
import type { WebhookMessage } from '@parley/shared/message'
import { parseExact } from '@parley/shared/parse-json'
import { ownAddresses } from '@parley/shared/providers/address'
import type { Wrong } from '@parley/shared/providers/outbound'
import { type Agents, agentTypeOf } from '../agents/turns/agents.ts'
import type { Callback } from '../channels/callback.ts'
import type { Channel, Channels } from '../channels/channels.ts'
import { type Admission, callEndOf, type Endpoints } from '../channels/endpoints/endpoints.ts'
import type { Functions } from '../channels/functions/functions.ts'
import type { Busy, Handle, Handled } from '../channels/handle.ts'
import { currentMessage } from '../message/current-message.ts'
import type { MessageRecord, Send } from '../message/message-record.ts'
import { hasAnswer, planSends } from '../message/plan.ts'
import type { MessageEnd } from '../message/progress.ts'
import { GROUP_MESSAGE, HANDLER_IS_PERSON, ranAgainAt, TAKEN_BACK } from '../message/progress.ts'
import { receivedContent } from '../message/received-content.ts'
import { wrongText } from '../message/said.ts'
import { quotedBy, type ReadQuoted } from '../thread-log/quoted-messages.ts'
import type { Times } from '../times.ts'
import { type Calling, waitFor } from './thread-run.ts'
import { type LeasedMessages, Superseded } from './written-message.ts'

/** What there is to send, and the answer where a handler made it. */
export interface Planned {
  channel: Channel
  /** With the answer in force, whoever made it. */
  message: WebhookMessage
  sends: Send[]
  answer?: string
}

/** What there is to do with a message. */
export type Prepared =
  | ({ kind: 'ready' } & Planned)
  /** An agent works it in turns. */
  | { kind: 'agent'; agents: Agents; channel: Channel; message: WebhookMessage }
  | { kind: 'end'; end: MessageEnd; answer?: string }
  /** What is missing may be configured in a moment (milliseconds since the epoch). */
  | { kind: 'later'; at: number; planned?: Planned }
  /** The handler may not be called at the moment. */
  | { kind: 'refused'; channel: Channel; admission: Extract<Admission, { kind: 'wait' }> }
  /** The handler has no room for it now. */
  | { kind: 'busy'; channel: Channel; room: Promise<void> }
  /** The handler did not answer, or a function can't be looked at. */
  | {
      kind: 'failed'
      step: string
      channel: Channel
      outcome: Exclude<Handled, { kind: 'answer' }>
      ms: number
      /** What the handler has answered, where a function of it can't be looked at. */
      planned?: Planned
    }

/** A run of a message, as far as preparing it goes. */
interface RunToPrepare {
  record: MessageRecord
  calling: Calling
  /** Whether the message is still this instance's to run. */
  leased: Pick<LeasedMessages, 'isLeased' | 'handedOver'>
  /** Whether a person has the message's thread. */
  isWithPerson(): Promise<boolean>
  options: {
    channels: Channels
    handle: Handle
    agents?: Agents
    functions: Pick<Functions, 'check'>
    callbackOf(provider: Channel['callback']): Pick<Callback, 'maxText'>
    endpoints: Pick<Endpoints, 'enter'>
    readQuoted: ReadQuoted
    times: Pick<Times, 'lookUpFor' | 'lookUpAgain'>
    now: () => number
  }
}

/**
 * Finds the message's channel, has its handler answer where the message carries no answer, plans the sends, and
 * looks at the functions among them before anything leaves. A message whose sends are planned already is not
 * handled again. Rejects with `unavailable` when configuration is unavailable.
 */
export async function prepare(run: RunToPrepare): Promise<Prepared> {
  const { record, leased } = run
  const { channels, agents } = run.options
  // Whoever runs a message again may have mended something a moment ago.
  const needs = { notBefore: ranAgainAt(record) }
  const channel = await channels.find(record.workspace, record.channel, needs)
  if (channel === undefined) return withoutChannel(run)
  const message = currentMessage(parseExact(record.body) as WebhookMessage, record.changed)
  // An answer would go to the one who wrote it, privately.
  const isOfGroup = receivedContent(message, record.source)?.isOfGroup === true
  if (isOfGroup && ownAddresses(message.user).length === 0) return { kind: 'end', end: GROUP_MESSAGE }
  if (record.turns !== undefined && agents !== undefined) return { kind: 'agent', agents, channel, message }
  if (record.takenOver !== undefined && !isForAgent(run, channel))
    return { kind: 'end', end: HANDLER_IS_PERSON }
  if (record.state !== 'received') {
    const { sends, answer } = record
    const handledMessage =
      answer === undefined ? message : { ...message, answer: parseExact(answer) as WebhookMessage['answer'] }
    return checked({ channel, message: handledMessage, sends }, run, needs)
  }
  if (hasAnswer(message.answer)) return planned({ channel, message }, run, needs)
  if (agents !== undefined && agentTypeOf(channel) !== undefined)
    return { kind: 'agent', agents, channel, message }
  if (record.changed?.isDeleted) return { kind: 'end', end: TAKEN_BACK }
  if (await run.isWithPerson()) return { kind: 'end', end: HANDLER_IS_PERSON }
  const started = performance.now()
  if (!leased.isLeased()) throw new Superseded()
  const handled = await handledBy(run, { channel, message })
  if (handled.kind !== 'answer' && leased.handedOver.aborted) throw new Superseded()
  if (handled.kind === 'wait') return { kind: 'refused', channel, admission: handled }
  if (handled.kind === 'busy') return { ...handled, channel }
  if (handled.kind !== 'answer')
    return { kind: 'failed', step: 'handler', channel, outcome: handled, ms: performance.now() - started }
  const answer = JSON.stringify(handled.answer)
  return planned({ channel, message: { ...message, answer: handled.answer }, answer }, run, needs)
}

const isForAgent = ({ options: { agents } }: RunToPrepare, channel: Channel): boolean =>
  agents !== undefined && agentTypeOf(channel) !== undefined

/** Before anything was sent a missing channel may still be configured; after a while the message is unrouted. */
function withoutChannel({ record, options: { times, now } }: RunToPrepare): Prepared {
  if (record.state !== 'received') {
    return { kind: 'end', end: { state: 'dead', reason: 'The channel is gone.', fault: 'channel' } }
  }
  const at = now()
  if (at - record.receivedAt.getTime() < times.lookUpFor) return { kind: 'later', at: at + times.lookUpAgain }
  return {
    kind: 'end',
    end: { state: 'unrouted', reason: 'The workspace has no channel with this external id.' },
  }
}

function planned(
  found: Omit<Planned, 'sends'>,
  run: RunToPrepare,
  needs: { notBefore: number },
): Prepared | Promise<Prepared> {
  const { record, options } = run
  const { channel, answer } = found
  const { maxText } = options.callbackOf(channel.callback)
  const { sends, errors } = planSends(record, found.message.answer, { channel, maxText })
  const [wrong] = errors
  if (wrong !== undefined) return notUnderstood(wrong, answer)
  if (sends.length > 0) return checked({ ...found, sends }, run, needs)
  return { kind: 'end', end: { state: 'done' }, ...(answer === undefined ? {} : { answer }) }
}

/** Nothing of the answer is sent. */
function notUnderstood(wrong: Wrong, answer: string | undefined): Prepared {
  const fault = answer === undefined ? 'caller' : 'channel'
  const end: MessageEnd = { state: 'dead', reason: `${wrongText(wrong, '/answer')}.`, fault }
  return { kind: 'end', end, ...(answer === undefined ? {} : { answer }) }
}

/** While nothing has left, a function that can't be called stops the whole answer from being sent. */
function checked(
  planned: Planned,
  run: RunToPrepare,
  needs: { notBefore: number },
): Prepared | Promise<Prepared> {
  const { sends } = planned
  const isBegun = sends.some(({ state }) => state !== 'pending')
  if (isBegun || !sends.some(({ content }) => content.kind === 'function'))
    return { kind: 'ready', ...planned }
  return withFunctions(planned, run, needs)
}

/** Built-in agents are called whatever happens; an endpoint, when it may be. */
async function handledBy(
  { record, calling, leased, options: { handle, endpoints, readQuoted } }: RunToPrepare,
  { channel, message }: Pick<Planned, 'channel' | 'message'>,
): Promise<Handled | Busy | Extract<Admission, { kind: 'wait' }>> {
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

async function withFunctions(
  planned: Planned,
  { record, calling, options: { functions, times, now } }: RunToPrepare,
  needs: { notBefore: number },
): Promise<Prepared> {
  const { sends, answer, ...found } = planned
  const started = performance.now()
  for (const { id, content } of sends) {
    if (content.kind !== 'function') continue
    const failure = await calling(() =>
      functions.check({ ...found, messageId: record._id, id, content }, needs),
    )
    if (failure === undefined) continue
    const isEarly = now() - record.receivedAt.getTime() < times.lookUpFor
    if (failure.kind !== 'permanent')
      return {
        kind: 'failed',
        step: id,
        channel: found.channel,
        outcome: failure,
        ms: performance.now() - started,
        planned,
      }
    if (failure.code === 'unknown_operation' && isEarly)
      return { kind: 'later', at: now() + times.lookUpAgain, planned }
    // Arguments are the caller's, unless the channel's handler made them up.
    const fault =
      failure.fault === 'caller' && (answer ?? record.answer) !== undefined ? 'channel' : failure.fault
    const end: MessageEnd = { state: 'dead', reason: failure.reason, fault }
    return { kind: 'end', end, ...(answer === undefined ? {} : { answer }) }
  }
  return { kind: 'ready', ...planned }
}
