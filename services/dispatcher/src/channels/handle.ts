import { AGENT_TYPES } from '@parley/shared/agents'
import { channelNumber } from '@parley/shared/channel-settings'
import { checkBytes, MAX_DEPTH, roundedIn } from '@parley/shared/json-body'
import { MAX_FUNCTIONS, type WebhookMessage, webhookMessage } from '@parley/shared/message'
import { parseExact } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import type { MessageRecord } from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import type { Answer } from '../message/plan.ts'
import type { Channel } from './channels.ts'
import { outcomeOfFailure, outcomeOfStatus } from './http/call-outcome.ts'
import { withErrorText } from './http/error-text.ts'
import { CallError, type HttpClient } from './http/http-client.ts'
import type { Signer } from './signing.ts'

const MAX_RESPONSE_BYTES = 1024 * 1024
/** As many as a body of ours may have: what is over that is said of it. */
const MAX_RESPONSE_NODES = 130_000
const NATIVE = 'native:agents/'
const TRANSCRIBER = 'transcriber'

export type Handled = { kind: 'answer'; answer: Answer } | Exclude<Outcome, { kind: 'accepted' }>

/** There is no room for it now; it is to be tried again after `room`. */
export interface Busy {
  kind: 'busy'
  room: Promise<void>
}

/** Has a channel's handler make the answer to a message, until `signal` aborts. Rejects with `unavailable` alone. */
export type Handle = (options: {
  channel: Channel
  record: TranscribedRecord
  message: WebhookMessage
  signal: AbortSignal
}) => Promise<Handled | Busy>

type TranscribedRecord = Pick<
  MessageRecord,
  | '_id'
  | 'workspace'
  | 'channel'
  | 'thread'
  | 'source'
  | 'body'
  | 'transcript'
  | 'order'
  | 'tries'
  | 'turns'
  | 'attempts'
  | 'timeline'
>

/** Answers with what is said in a message's audio, until `signal` aborts. Rejects with `unavailable` alone. */
export type Transcriber = (call: {
  channel: Channel
  record: TranscribedRecord
  message: WebhookMessage
  signal: AbortSignal
}) => Promise<Handled | Busy>

/** Describes the channel's assistant and its work in a thread, without secrets; null where there is none. */
export type DescribeAssistant = (options: { channel: Channel; thread: string }) => Promise<object | null>

interface HandleOptions {
  http: Pick<HttpClient, 'post'>
  signer: Signer
  describeAssistant?: DescribeAssistant
  /** The built-in agent of type `transcriber`; without it there is none. */
  transcriber?: Transcriber
}

/**
 * Handlers: built-in agents by `native:agents/<type>`, others by a signed POST of the bare message, within the
 * channel's `handlerTimeoutSeconds`; with `handlerContext` the message has the `assistant` in it.
 */
export function createHandle(options: HandleOptions): Handle {
  return (call) => {
    const { handlerUrl } = call.channel
    if (handlerUrl.startsWith(NATIVE)) return handleNatively(options, call)
    if (/^https?:/.test(handlerUrl)) return handleByPost(options, call)
    return Promise.resolve(
      permanent('unknown_handler', 'The handler is neither an http(s) URL nor a built-in agent.'),
    )
  }
}

async function handleNatively(
  { transcriber }: HandleOptions,
  { channel, record, message, signal }: Parameters<Handle>[0],
): Promise<Handled | Busy> {
  const type = channel.handlerUrl.slice(NATIVE.length)
  const agent = nativeAgents.get(type)
  if (agent !== undefined) return { kind: 'answer', answer: await agent(message) }
  if (type === TRANSCRIBER && transcriber !== undefined)
    return transcriber({ channel, record, message, signal })
  return permanent(
    'unknown_agent',
    `There is no built-in agent of type ${JSON.stringify(type)}; known: ${AGENT_TYPES.join(', ')}.`,
  )
}

async function handleByPost(
  { http, signer, describeAssistant }: HandleOptions,
  { channel, record, message, signal }: Parameters<Handle>[0],
): Promise<Handled> {
  const messageId = record._id
  const described = channel.config.handlerContext === true ? describeAssistant : undefined
  const assistant = await described?.({ channel, thread: record.thread })
  const payload = JSON.stringify(assistant === undefined ? message : { ...message, assistant })
  try {
    const headers = signer.headers({ channel, id: messageId, payload, at: new Date() })
    const call = {
      url: channel.handlerUrl,
      headers: { ...headers, 'content-type': 'application/json' },
      body: payload,
      timeoutMs: channelNumber(channel.config, 'handlerTimeoutSeconds') * 1_000,
      maxBytes: MAX_RESPONSE_BYTES,
      maxNodes: MAX_RESPONSE_NODES,
      signal,
    }
    const answer = await http.post(call)
    const outcome = withErrorText(outcomeOfStatus(answer), answer, call)
    return outcome.kind === 'accepted' ? messageIn(answer.body) : outcome
  } catch (error) {
    if (error instanceof CallError && error.failure === 'answer_too_large')
      return permanent(
        'bad_answer',
        `The handler's answer is larger than ${MAX_RESPONSE_BYTES} bytes, or has too many values.`,
      )
    return outcomeOfFailure(error)
  }
}

function messageIn(body: string): Handled {
  try {
    // Before anything recurses.
    checkBytes(Buffer.from(body))
    const message = webhookMessage.safeParse(wholeMessage(parseExact(body)))
    if (message.success) return unlessRounded(message.data.answer)
    const [issue] = message.error.issues
    const path = issue?.path.join('/') ?? ''
    if (issue?.code === 'too_big')
      return permanent('bad_answer', `The handler's answer has more than ${MAX_FUNCTIONS} functions.`)
    return permanent('bad_answer', `The handler's answer is not a message: /${path} is wrong.`)
  } catch (error) {
    if (error instanceof Problem && error.code === 'too_deep')
      return permanent('bad_answer', `The handler's answer nests deeper than ${MAX_DEPTH} levels.`)
    if (error instanceof Problem && error.code === 'too_many_members')
      return permanent('bad_answer', `The handler's answer is too large. ${error.message}`)
    return permanent('bad_answer', "The handler's answer is not JSON.")
  }
}

/** Refuses numbers that lose digits: submissions are stored in the end, where numbers are doubles. */
function unlessRounded(answer: Answer): Handled {
  const [rounded] = roundedIn(answer.submit, '/answer/submit')
  if (rounded === undefined) return { kind: 'answer', answer }
  return permanent('bad_answer', `The handler's answer: ${rounded.path} ${rounded.message}.`)
}

/** An answer alone, or its text alone, is an answer to the message that was sent. */
function wholeMessage(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 1) return value
  const rest = { extId: '', user: {}, thread: {} }
  if ('answer' in value) return { ...rest, answer: value.answer }
  return 'message' in value ? { ...rest, answer: value } : value
}

function permanent(code: string, reason: string): Handled {
  return { kind: 'permanent', code, fault: 'channel', reason }
}

/** A built-in agent: makes the answer to a message. */
type NativeAgent = (message: WebhookMessage) => Promise<Answer>

/** Answers with the input itself. */
const echo: NativeAgent = async (message) => ({ message: message.input ?? '' })

/** The built-in agents by the type that `native:agents/<type>` names. */
const nativeAgents: ReadonlyMap<string, NativeAgent> = new Map([['echo', echo]])
