import type { MessagePricing } from '@parley/shared/message-status'
import type { Turn } from './turn.ts'

/** Where a message stands. `received`, `handled` and `sending` are in flight; the others are ends of our work. */
export const MESSAGE_STATES = [
  'received',
  'handled',
  'sending',
  'sent',
  'delivered',
  'read',
  'done',
  'failed',
  'dead',
  'unrouted',
] as const
export type MessageState = (typeof MESSAGE_STATES)[number]

/** Whose fault it is that a message was given up. */
export const FAULTS = ['caller', 'channel', 'provider', 'recipient', 'us'] as const
export type Fault = (typeof FAULTS)[number]

/** The content of a message to the person. */
export type PersonalContent = TemplateContent | { kind: 'text'; text: string } | ObjectContent
/** `more` is what it was given beside, as JSON text. */
interface TemplateContent {
  kind: 'template'
  template: string
  language: string
  variables: string[]
  more?: string
}
/** An object of a provider's own. */
export interface ObjectContent {
  kind: 'object'
  provider: string
  /** The provider's name of what it is: `image`, `template`, … */
  type: string
  /** It, as JSON text; where there is none it is in the answer, at this position of its functions. */
  object?: string
  position?: number
}
/** A call of an action's operation; its arguments are in the answer, at this position of its functions. */
export interface FunctionContent {
  kind: 'function'
  name: string
  position: number
}
/** The submission of the answer to the task of its thread; its content is in the answer. */
interface SubmitContent {
  kind: 'submit'
}
/** A call of a tool by a model; its arguments are in the turn that the send names. */
interface ToolContent {
  kind: 'tool'
  name: string
}
export type SendContent = PersonalContent | FunctionContent | SubmitContent | ToolContent

/** Where a send stands: not yet tried, claimed by an attempt, taken by the provider, or what its statuses say. */
export type SendState = 'pending' | 'claimed' | 'sent' | 'delivered' | 'read' | 'failed'

/** One thing that an answer sends: a record for each that leaves, for the person, an action or a task. */
export interface Send {
  /** Message id and position: the idempotency key of the send, the same on every attempt. */
  id: string
  content: SendContent
  state: SendState
  /** The provider's id of what it accepted. */
  providerId?: string
  /** How often it failed since it was last run again, up to when the provider accepted it last; missing for never. */
  tries?: number
  /** The provider's ids of what it accepted and reported as failed later, the latest 16. */
  failedIds?: string[]
  /** Why it failed, as the provider reported it later. */
  failure?: SendFailure | undefined
  /** When it is sent again after that. */
  retryAt?: Date | undefined
  /** The price that the provider reports. */
  pricing?: SendPricing
  /** The position of the turn that it belongs to, and of the call among the turn's. */
  of?: { turn: number; call?: number }
}

interface SendFailure {
  code: string
  fault: Fault
  reason: string
}

/** Of the attempt with this id. */
export interface SendPricing extends MessagePricing {
  providerId: string
}

/** How a message ends, whatever becomes of its sends. */
export interface Ending {
  state: 'done' | 'dead'
  reason: string
  fault?: Fault
}

export interface TimelineEntry {
  at: Date
  state: MessageState
  reason?: string
}

export interface Attempt {
  at: Date
  /** The step that was tried: `handler`, or the id of a send. */
  step: string
  outcome: 'accepted' | 'retryable' | 'permanent' | 'uncertain'
  /** The provider's or our own code for what went wrong. */
  code?: string
  /** The other side's text about it: 500 bytes at most, without secrets and without the content that was sent. */
  error?: string
  /** How long it took, in milliseconds. */
  ms: number
}

/** A later change of a message by its writer: another text, or its deletion. */
export interface Changed {
  /** The message that says so. */
  by: string
  /** When, by the provider's clock. */
  at: Date
  text?: string
  isDeleted?: true
}

/** The source of what a person of the team replies: it comes from here, and from nobody who posts messages. */
export const REPLY_SOURCE = 'reply'

/** A message as the dispatcher stores it: what is undefined is not there. */
export interface MessageRecord {
  _id: string
  workspace: number
  partition: number
  thread: string
  /** Names of threads of the same person that go on in its own. */
  joined?: string[] | undefined
  /** The addresses that the person is written to or known by, such as `phone:5511988887777`. */
  addresses?: string[] | undefined
  /** Of earlier versions: the digits of the phone number, in the place of addresses. */
  phone?: string | undefined
  /** Other names that the person is found by, in lower case. */
  names?: string[] | undefined
  /** Its own id, once later messages of its thread may pass it: it is then a thread of its own. */
  lane?: string
  /** Sequence number in the partition: lease term × 2^32, plus how many came before in that term. */
  order: number
  /** Counts writes; every write names the revision that it is based on. */
  revision: number
  /** The instance that wrote last. */
  writer?: string | undefined
  channel: string
  /** The configuration's own id of the channel, where the webhook knew it. */
  channelId?: number | undefined
  source: string
  requestId?: string | undefined
  /** The trace that it came in with (W3C Trace Context). */
  traceparent?: string | undefined
  state: MessageState
  /** There while the pipeline still has work with it. */
  open?: true | undefined
  /** Not to be tried before this time. */
  due?: Date | undefined
  /** The condition that `due` is waited for. */
  waitingFor?: WaitingFor | undefined
  /** How often the current step was tried without success. */
  tries: number
  receivedAt: Date
  /** When the webhook accepted it, to a second, where that was earlier. */
  acceptedAt?: Date | undefined
  updatedAt: Date
  expiresAt?: Date | undefined
  reason?: string | undefined
  fault?: Fault | undefined
  /** The message as JSON text: exactly what came in, whatever its keys. */
  body: string
  /** How it reads since its writer changed it. */
  changed?: Changed
  /** The transcript of its audio, once there is one. */
  transcript?: string
  /** The answer as JSON text, where a handler made it. */
  answer?: string | undefined
  sends: Send[]
  timeline: TimelineEntry[]
  attempts: Attempt[]
  /** The turns of its agent's model, where a model works it. */
  turns?: Turn[]
  /** How it ends once its sends are settled, where that is decided already. */
  ending?: Ending
  /** It comes from the person: it carries no answer. */
  inbound?: true | undefined
  /** When a person took its thread over; nothing that an agent or a handler answers is sent from then on. */
  takenOver?: Date
  /** When its agent gave its thread to a person, since it was last run again. */
  handedOffAt?: Date
  /** The later message of its thread whose answer is also the answer to this one. */
  gatheredInto?: string
}

/** The words that a message is found by. */
export interface MessageWords {
  /** The message's. */
  _id: string
  workspace: number
  /** The id of its thread, which may go on in another one. */
  thread: string
  /** When the message was received. */
  at: Date
  words: string[]
  expiresAt: Date
}

/** The part of a message that the pipeline changes, once it is stored. */
export type Progress = Pick<MessageRecord, 'state' | 'tries' | 'sends' | 'timeline' | 'attempts'> &
  Partial<
    Pick<
      MessageRecord,
      | 'lane'
      | 'open'
      | 'due'
      | 'waitingFor'
      | 'reason'
      | 'fault'
      | 'answer'
      | 'expiresAt'
      | 'turns'
      | 'ending'
      | 'gatheredInto'
      | 'transcript'
      | 'handedOffAt'
    >
  >

/** The message after a write of its progress. */
export function advanced(record: MessageRecord, progress: Progress): MessageRecord {
  const { open, due, waitingFor, reason } = progress
  // Taking a field away would make the object slow; one that is undefined is not stored.
  return { ...record, ...progress, open, due, waitingFor, reason, revision: record.revision + 1 }
}

/** The key of a thread inside the dispatcher: threads of two workspaces never meet, and a message that others may pass has its own key. */
export function threadKey({ workspace, thread, lane }: Pick<MessageRecord, 'workspace' | 'thread' | 'lane'>) {
  return lane === undefined ? `${workspace}/${thread}` : `${workspace}/${thread}\0${lane}`
}

/** Reasons for which a message may wait before it is run (again). */
const WAITING_FOR = [
  /** Its next try, after one that failed. */
  'retry',
  /** The rate of its provider's number. */
  'rate',
  /** The rate at which its provider takes messages for one person. */
  'person_rate',
  /** An endpoint that did not answer lately: its circuit breaker is open. */
  'circuit_breaker',
  /** Other calls to the same host to end. */
  'host',
  /** A status of a send whose outcome is uncertain. */
  'status',
  /** A channel or an action that may be configured in a moment. */
  'configuration',
  /** The broker or the store, which is unavailable. */
  'server',
  /** The answer of a language model, or room to ask one. */
  'model',
  /** Further messages of its thread, which get one answer with it. */
  'gathering',
  /** The time at which it is to be sent. */
  'schedule',
  /** Its template to be sent by the provider again, which has paused it. */
  'template',
] as const
export type WaitingFor = (typeof WAITING_FOR)[number]

/** The same, or inside of the dispatcher. */
export const WAITING = [
  ...WAITING_FOR,
  /** The answer of a handler or an endpoint, which is being called. */
  'answer',
  /** Its workspace's place in the round robin. */
  'turn',
  /** Those before it in its thread, or room in memory. */
  'thread',
] as const
export type Waiting = (typeof WAITING)[number]

/** How many messages wait for something, and when the oldest of them came (milliseconds since the epoch). */
export type WaitingCounts = Map<Waiting, { messages: number; oldestAt: number }>
