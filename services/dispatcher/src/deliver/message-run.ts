import type { Log } from '@parley/shared/log'
import type { Agents } from '../agents/turns/agents.ts'
import type { Callback } from '../channels/callback.ts'
import type { Channel, Channels } from '../channels/channels.ts'
import type { Endpoints } from '../channels/endpoints/endpoints.ts'
import type { Functions } from '../channels/functions/functions.ts'
import type { Handle } from '../channels/handle.ts'
import type { MayLeave } from '../channels/http/http-client.ts'
import type { RateKeys } from '../channels/send-rate-limit/local-rate.ts'
import { SendRate, type SendSlots } from '../channels/send-rate-limit/send-rate.ts'
import type { SendRateLimit } from '../channels/send-rate-limit/send-rate-limit.ts'
import type { Submit } from '../channels/submit.ts'
import type { CallKind } from '../message/call-result.ts'
import type {
  FunctionContent,
  MessageRecord,
  PersonalContent,
  Send,
  WaitingFor,
} from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import { handled, ranAgainAt } from '../message/progress.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Traffic } from '../store/traffic.ts'
import type { ReadQuoted } from '../thread-log/quoted-messages.ts'
import type { Times } from '../times.ts'
import type { StatusArrival } from './claim.ts'
import type { Planned } from './prepare.ts'
import type { Calling } from './thread-run.ts'
import { type LeasedMessages, Superseded, WrittenMessage } from './written-message.ts'

/** What the dispatcher knows of the thread that a message belongs to. */
export interface KnownThreads {
  /** Whether a person has it: then nothing of an agent or a handler is sent. Rejects with `unavailable`. */
  isWithPerson(record: MessageRecord): Promise<boolean>
  /** Whether its person wrote nothing for so long. Rejects with `unavailable`. */
  isOutsideWindow(record: MessageRecord, window: { now: number; windowMs: number }): Promise<boolean>
}

/** What delivering messages takes. */
export interface DeliverOptions extends DeliveryRoutes {
  channels: Channels
  handle: Handle
  /** What works messages that need a model; without it there are no such agents. */
  agents?: Agents
  endpoints: Pick<Endpoints, 'enter'>
  threads: KnownThreads
  readQuoted: ReadQuoted
  submit: Submit
  /** Reads a message that somebody else has written. */
  read(id: string): Promise<MessageRecord | null>
  sendRateLimit: SendRateLimit
  statuses: StatusArrival
  metrics: Pick<Metrics, 'settled' | 'waited' | 'sent' | 'delivered'>
  traffic: Pick<Traffic, 'moved' | 'left'>
  log: Log
  /** How long an uncertain send waits for its status, in milliseconds. */
  uncertainWindow: number
  retentionMs: number
  times: Pick<Times, 'lookUpFor' | 'lookUpAgain'>
  now: () => number
}

/** One run of a message: the message as it then stands, and what its steps share. */
export class MessageRun {
  readonly message: WrittenMessage
  readonly leased: LeasedMessages
  readonly calling: Calling
  readonly options: DeliverOptions
  readonly rate: SendRate
  /** Whether later messages of the thread may pass this one while it waits. */
  isPassable = false
  #isTakenAgain: Promise<boolean> | undefined

  constructor(run: {
    record: MessageRecord
    leased: LeasedMessages
    calling: Calling
    options: DeliverOptions
    slots: SendSlots
  }) {
    const { record, leased, options, slots } = run
    const { read, sendRateLimit, metrics, now } = options
    this.message = new WrittenMessage({ record, leased, read })
    this.leased = leased
    this.calling = run.calling
    this.options = options
    this.rate = new SendRate({ sendRateLimit, slots, metrics, now })
  }

  get record(): MessageRecord {
    return this.message.record
  }

  /**
   * Whether a person has the thread. It is read once the message is stored: whoever takes the thread over afterwards
   * finds the message, and marks it.
   */
  async isWithPerson(): Promise<boolean> {
    const { leased, calling, options, record } = this
    if (record.takenOver !== undefined) return true
    if (!(await leased.ensureStored(record))) throw new Superseded()
    return calling(() => options.threads.isWithPerson(record))
  }

  /**
   * Whether a person has the thread of a message that was run again. Nobody marked it if they took the thread over
   * when it had ended; from now on whoever does marks it, so it is read once a run. What carries its caller's own
   * answer is sent whoever has the thread.
   */
  wasTakenWhileEnded(): boolean | Promise<boolean> {
    if (this.record.inbound !== true || ranAgainAt(this.record) === 0) return false
    this.#isTakenAgain ??= this.isWithPerson()
    return this.#isTakenAgain
  }

  /** Takes over what is to be sent; it is stored with the first claim, or by {@link storeAnswer}. */
  take({ sends, answer }: Planned): void {
    this.message.record = { ...this.record, sends, ...(answer === undefined ? {} : { answer }) }
  }

  /** Stores the plan, and the answer that a handler made: asked again, it may answer something else. It says what is waited for. */
  async storeAnswer(waitingFor?: WaitingFor): Promise<void> {
    if (this.record.state !== 'received') return
    const progress = handled(this.record, { at: this.options.now() })
    await this.message.commitUnderLease(waitingFor === undefined ? progress : { ...progress, waitingFor })
  }
}

/** How one send leaves. */
export interface DeliveryRoute {
  /** Whether the other side reports later what became of it. */
  reports: boolean
  /** Whether it may be made again when it may have happened and nobody reports; it may unless said otherwise. */
  isRepeatable?: boolean | undefined
  /** Whether that is so only under the same idempotency key. */
  isKeyed?: boolean | undefined
  /** What it counts against, where the other side allows only so many. */
  keys?: RateKeys | undefined
  /** What it calls; undefined where that can't be said. */
  url?: string | undefined
  /** The longest one attempt takes, in milliseconds: 12 s unless said otherwise. */
  timeoutMs?: number | undefined
  /** Where a model made it: what it is given of it. */
  call?: CallKind
  /** Makes one attempt. Nothing leaves where `mayLeave` says no once the connection is there. */
  deliver(mayLeave: MayLeave): Promise<Outcome>
}

interface DeliveryRoutes {
  /** What sends through the provider of this name. */
  callbackOf(provider: Channel['callback']): Callback
  functions: Functions
}

/**
 * A send to the person leaves by the channel's callback, a function by the action that has it. Rejects with
 * `unavailable`.
 */
export function routeOf(
  { callbackOf, functions }: DeliveryRoutes,
  { channel, message }: Pick<Planned, 'channel' | 'message'>,
  send: Pick<Send, 'id' | 'of'> & { messageId: string; content: PersonalContent | FunctionContent },
): DeliveryRoute | Promise<DeliveryRoute> {
  const { id, of, messageId, content } = send
  const call = { channel, messageId, message, id }
  if (content.kind === 'function')
    return functions.open({ ...call, content }).then((attempt) => ({ reports: false, ...attempt }))
  const callback = callbackOf(channel.callback)
  const keys = callback.rateKeys?.(channel, message)
  const deliver = (mayLeave: MayLeave) => callback.deliver({ ...call, content, mayLeave })
  const route: DeliveryRoute = { reports: callback.reports, keys, url: callback.urlOf?.(channel), deliver }
  return of?.call === undefined ? route : { ...route, call: 'sent' }
}
