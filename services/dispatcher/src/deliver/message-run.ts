import type { Log } from '@parley/shared/log'
import type { WebhookMessage } from '@parley/shared/message'
import { parseExact } from '@parley/shared/parse-json'
import type { OpenedTool, Toolbox } from '../agents/toolbox.ts'
import type { Agents } from '../agents/turns/agents.ts'
import type { Callback } from '../channels/callback.ts'
import type { Channel, Channels } from '../channels/channels.ts'
import type { Endpoints } from '../channels/endpoints/endpoints.ts'
import type { Handle } from '../channels/handle.ts'
import type { MayLeave } from '../channels/http/http-client.ts'
import type { RateKeys } from '../channels/send-rate-limit/local-rate.ts'
import { SendRate, type SendSlots } from '../channels/send-rate-limit/send-rate.ts'
import type { SendRateLimit } from '../channels/send-rate-limit/send-rate-limit.ts'
import type { Submit } from '../channels/submit.ts'
import type { KnownTemplates } from '../channels/templates/known-templates.ts'
import type { RecordConsent } from '../consent/record-consent.ts'
import type { Suppressions } from '../consent/suppressions.ts'
import type { ReadQuoted } from '../conversations/quoted-messages.ts'
import type { Functions } from '../functions/functions.ts'
import type { CallKind } from '../message/call-result.ts'
import { currentMessage } from '../message/current-message.ts'
import type {
  Changed,
  FunctionContent,
  MessageRecord,
  PersonalContent,
  Send,
  WaitingFor,
} from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import { handled } from '../message/progress.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Traffic } from '../store/traffic.ts'
import type { Times } from '../times.ts'
import type { StatusArrival } from './claim.ts'
import { audioKeyOf, callKeyOf } from './decide-turn.ts'
import type { Facts, LookedUp, Planned } from './step.ts'
import type { Calling } from './thread-run.ts'
import { type LeasedMessages, Superseded, WrittenMessage } from './written-message.ts'

/** Facts about the thread that a message belongs to. */
export interface KnownThreads {
  /** True if a person has it: then nothing of an agent or a handler is sent. Rejects with `unavailable`. */
  isWithPerson(record: MessageRecord): Promise<boolean>
  /** True if its person has written nothing for so long. Rejects with `unavailable`. */
  isOutsideWindow(record: MessageRecord, window: { now: number; windowMs: number }): Promise<boolean>
}

/** The dependencies of delivering messages. */
export interface DeliverOptions extends DeliveryRoutes {
  channels: Channels
  handle: Handle
  /** The agents that work messages that need a model; without it there are none. */
  agents?: Agents
  endpoints: Pick<Endpoints, 'enter'>
  threads: KnownThreads
  suppressions: Pick<Suppressions, 'isOptedOut'>
  recordConsent: RecordConsent
  readQuoted: ReadQuoted
  knownTemplates: Pick<KnownTemplates, 'find'>
  /** True if a workspace may have no further message that waits for its time. Rejects with `unavailable`. */
  isScheduleFull(workspace: number): Promise<boolean>
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
  times: Pick<Times, 'lookUpFor' | 'lookUpAgain' | 'templateAgain'>
  now: () => number
}

/** One run of a message: the message as it then stands, and what its steps share. */
export class MessageRun {
  readonly message: WrittenMessage
  readonly leased: LeasedMessages
  readonly calling: Calling
  readonly options: DeliverOptions
  readonly rate: SendRate
  /** True if later messages of the thread may pass this one while it waits. */
  isPassable = false
  /** The results that steps of this run have looked up. */
  readonly lookedUp: LookedUp = {}
  /** The tools of its agent, once one was called. */
  toolbox: Promise<Toolbox | undefined> | undefined
  /** Its calls as they were opened in this run, by the ids of their sends. */
  readonly openedCalls = new Map<string, Promise<OpenedTool>>()
  #given: WebhookMessage | undefined
  #read: { changed: Changed | undefined; answer: string | undefined; message: WebhookMessage } | undefined

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

  /** The present facts about the message. */
  get facts(): Facts {
    const { options, lookedUp, record } = this
    const { times, now, callbackOf } = options
    const { channel } = lookedUp
    const calls = options.agents?.calls
    const inFlight = calls?.has(record._id) ? calls : undefined
    const turnCall = inFlight?.find(callKeyOf(record))
    return {
      ...lookedUp,
      now: now(),
      times,
      message: this.#message,
      maxText: channel ? callbackOf(channel.callback).maxText : undefined,
      turnCall,
      // Its turn is asked for once its audio was heard.
      audioCall: turnCall ? undefined : inFlight?.find(audioKeyOf(record)),
      hasAgents: calls !== undefined,
    }
  }

  /** Of a message whose channel was found. */
  get channel(): Channel {
    const { channel } = this.lookedUp
    if (!channel) throw new Error('the channel is not known yet')
    return channel
  }

  /** The channel, and the message as it reads now, with the answer in force. */
  get of(): Pick<Planned, 'channel' | 'message'> {
    return { channel: this.channel, message: this.#message }
  }

  /** Of a message that an agent works. */
  get agents(): Agents {
    const { agents } = this.options
    if (agents === undefined) throw new Error('there are no agents')
    return agents
  }

  get #message(): WebhookMessage {
    const { changed, answer } = this.record
    if (this.#read === undefined || this.#read.changed !== changed || this.#read.answer !== answer) {
      this.#given ??= parseExact(this.record.body) as WebhookMessage
      const current = currentMessage(this.#given, changed)
      const message =
        answer === undefined
          ? current
          : { ...current, answer: parseExact(answer) as WebhookMessage['answer'] }
      this.#read = { changed, answer, message }
    }
    return this.#read.message
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

  /** Ends what its calls had of servers. Waits for nothing. */
  close(): void {
    void this.toolbox?.then((one) => one?.close?.()).catch(() => undefined)
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
  /** True if the other side later reports the outcome. */
  reports: boolean
  /** True if it may be made again when it may have happened and nobody reports; the default is true. */
  isRepeatable?: boolean | undefined
  /** True if that holds only under the same idempotency key. */
  isKeyed?: boolean | undefined
  /** The rates that it counts against, where the other side has a limit. */
  keys?: RateKeys | undefined
  /** The URL that it calls; undefined where that is not known. */
  url?: string | undefined
  /** The longest one attempt takes, in milliseconds: 12 s unless said otherwise. */
  timeoutMs?: number | undefined
  /** Where a model made it: what it is given of it. */
  call?: CallKind
  /** Makes one attempt. Nothing leaves where `mayLeave` says no once the connection is there. */
  deliver(mayLeave: MayLeave): Promise<Outcome>
}

interface DeliveryRoutes {
  /** Returns the callback that sends through the provider of this name. */
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
