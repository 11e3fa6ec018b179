import { eventually } from '@parley/local/testing/service-under-test'
import type { TurnAgent } from '@parley/shared/agents'
import { defined } from '@parley/shared/defined'
import { createLog } from '@parley/shared/log'
import { MESSAGE_TYPE } from '@parley/shared/message'
import { derivedMessageId } from '@parley/shared/messaging/message-publication'
import type { ConsumeMessage } from 'amqplib'
import { Registry } from 'prom-client'
import type { Agent } from '../../src/agents/agent.ts'
import { AGENT_KINDS } from '../../src/agents/kinds/kinds.ts'
import { createMediaSlots } from '../../src/agents/model/media-slots.ts'
import { createAskSeeing } from '../../src/agents/model/seeing.ts'
import type { ModelChoice, ModelClient, ModelRequest, ModelResult } from '../../src/agents/model-client.ts'
import type { OpenedTool, Toolbox } from '../../src/agents/toolbox.ts'
import { createToolImages } from '../../src/agents/tools/tool-images.ts'
import { type AgentParts, createAgents } from '../../src/agents/turns/agents.ts'
import { createUsage } from '../../src/agents/usage/usage.ts'
import type { Callback, Delivery } from '../../src/channels/callback.ts'
import type { HeedMessages } from '../../src/consent/heed-messages.ts'
import { createDeliverMessage } from '../../src/deliver/deliver-message.ts'
import type { DeliverOptions } from '../../src/deliver/message-run.ts'
import { createIntakeStore } from '../../src/intake/intake-store.ts'
import { createNonSpeech } from '../../src/intake/non-speech.ts'
import { openPartition } from '../../src/intake/open-partition.ts'
import { applyReplays } from '../../src/intake/store-deliveries.ts'
import type { MessageRecord } from '../../src/message/message-record.ts'
import type { Outcome } from '../../src/message/outcome.ts'
import { REPLAY_TYPE } from '../../src/message/progress.ts'
import { textOfContent } from '../../src/message/spoken-text.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import type { Partition } from '../../src/schedule/partitions.ts'
import type { Collections } from '../../src/store/collections.ts'
import { createCommitter } from '../../src/store/commit.ts'
import { RecentlyStored } from '../../src/store/recently-stored.ts'
import { deliveryOptions } from '../delivery-options.ts'
import { faultyMessages, newStoreLine, type StoreLine } from '../intake/model/faulty-messages.ts'
import { MemoryQueue } from '../intake/model/memory-queue.ts'
import { noConsent } from '../no-consent.ts'
import { noThreadLog } from '../no-threads.ts'
import { noTraffic } from '../no-traffic.ts'

const log = createLog({ service: 'test', level: 'silent' })
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const DRAIN_MS = 100
const ORIGINAL_MS = 1_000
const TOKENS_PER_DAY = 1_000_000_000

/** The parts of an agent system that a test sets itself. */
export interface AgentBehaviour {
  /** How long a hand-over waits for models, in milliseconds; 100 unless said. */
  drainMs?: number
  /** How long a change waits for what it changes, in milliseconds; 1,000 unless said. */
  originalMs?: number
  config?: Record<string, unknown>
  /** Of the deployment's own key; any number unless said. */
  tokensPerDay?: number
  /** Answers for the model; a text is an answer without calls. */
  model(request: ModelRequest, choice: ModelChoice): ModelResult | string | Promise<ModelResult | string>
  /** Opens a tool. */
  open?(call: Parameters<Toolbox['open']>[0]): OpenedTool
  /** The action that a tool is of; 1 unless said. */
  actionOf?(tool: string): number | undefined
  /** Returns the outcome of a send to the person. */
  send?(delivery: Delivery): Outcome | Promise<Outcome>
  parts?: Partial<AgentParts>
  options?: Partial<DeliverOptions>
  threadLog?: Parameters<typeof openPartition>[0]['threadLog']
  heed?: HeedMessages
  /** The longest text of one send; any unless said. */
  maxText?: number
  /** The provider that the channel sends by; RPC where it is not given. */
  callback?: string
  /** A process of a killed instance is not to be heard of again. */
  reports?: boolean
}

interface Instance {
  partition: Partition
  writer: string
  line: StoreLine
  lease: { isLeased: boolean }
}

/** One of the calls of a turn, as a test names it. */
export const toolCall = (tool: string, args: object = {}, id = `id-${tool}`) => ({
  id,
  tool,
  args: JSON.stringify(args),
})

export function modelTurn(
  text: string,
  calls: ReturnType<typeof toolCall>[] = [],
): Extract<ModelResult, { kind: 'answered' }> {
  const usage = { provider: 'openai', model: 'm', inputTokens: 10, outputTokens: 5, ms: 1 }
  const finishReason = calls.length === 0 ? 'stop' : 'tool-calls'
  return { kind: 'answered', turn: { ...usage, finishReason, text, calls } }
}

/** Returns the person's text in the message that is being answered. */
export function lastSaid({ conversation }: ModelRequest): string {
  const said = conversation.findLast(({ role }) => role === 'person')
  return said?.role === 'person' ? said.text : ''
}

/**
 * One partition of the real dispatcher on the real MongoDB, whose channel is answered by an agent; model, tools and the
 * person's side are functions of a test. Each system has a workspace and a partition of its own.
 */
export class AgentSystem {
  /** The texts that got to the person, with the ids of the sends. */
  readonly sent: { id: string; text: string }[] = []
  readonly #workspace: number
  readonly #messages: Collections['messages']
  readonly #collections: Collections
  readonly #behaviour: AgentBehaviour
  readonly #queue = new MemoryQueue(() => {})
  readonly #instances: Instance[] = []
  #term = 0
  #sequenceNumber = 2 ** 40

  constructor(options: { number: number; collections: Collections } & AgentBehaviour) {
    this.#workspace = options.number
    this.#collections = options.collections
    this.#messages = options.collections.messages
    this.#behaviour = options
    this.#open()
  }

  /** The store's own messages, for what a test reads itself. */
  get workspace(): number {
    return this.#workspace
  }

  /** A person says something, or a caller of the API has it answered already. */
  publish(
    id: string,
    { thread = 't', channel = 'c', source = 'api', ...message }: Record<string, unknown> = {},
  ): void {
    const headers = { workspace: this.#workspace, channel, thread, source }
    const body = { extId: channel, user: { phone: '1' }, thread: {}, answer: {}, input: id, ...message }
    this.#queue.publish({
      messageId: id,
      content: Buffer.from(JSON.stringify(body)),
      properties: { messageId: id, type: MESSAGE_TYPE, headers } as unknown as ConsumeMessage['properties'],
    })
  }

  /** Something comes from a provider, under the provider's id; resolves with the message's. */
  receive(meta: { id: string } & Record<string, unknown>, message: Record<string, unknown> = {}): string {
    const { id } = meta
    const origin = { source: 'meta', workspace: this.#workspace, channel: 'c', id }
    const messageId = derivedMessageId(origin)
    this.publish(messageId, { source: 'meta', input: undefined, meta, ...message })
    return messageId
  }

  /** Has whoever works the partition look at a message again. */
  interrupt(messageId: string): void {
    const id = `interrupt-${this.#sequenceNumber++}`
    this.#queue.publish({
      messageId: id,
      content: Buffer.from(JSON.stringify({ workspace: this.#workspace, messageId, onlyOpen: true })),
      properties: { messageId: id, type: REPLAY_TYPE } as unknown as ConsumeMessage['properties'],
    })
  }

  async stored(_id: string): Promise<MessageRecord | null> {
    return this.#messages.findOne({ _id })
  }

  /** Waits until the message is as asked for. */
  async until(
    id: string,
    isDone: (record: MessageRecord) => boolean = ({ open }) => open !== true,
  ): Promise<MessageRecord> {
    let record: MessageRecord | null = null
    const done = eventually(async () => {
      record = await this.stored(id)
      return record !== null && isDone(record) && record
    })
    return done.catch(() => Promise.reject(new Error(`${id} is ${JSON.stringify(record)}`)))
  }

  /** As an operator would; another instance goes on with it. */
  async replay(messageId: string): Promise<void> {
    await applyReplays(this.#messages, [
      { workspace: this.#workspace, messageId, partition: this.#workspace, order: this.#sequenceNumber++ },
    ])
    await this.handOver()
  }

  /** The lease runs out unnoticed, another instance takes over, and the old one notices later. */
  loseLease(noticedAfterMs: number): void {
    const old = this.#current
    old.lease.isLeased = false
    setTimeout(() => old.partition.abandon(), noticedAfterMs)
    this.#open()
  }

  async handOver(): Promise<void> {
    await this.#current.partition.release()
    this.#current.lease.isLeased = false
    this.#open()
  }

  /** The process dies, its claims are over, and another instance takes over. */
  async kill(): Promise<void> {
    const { line, partition, writer, lease } = this.#current
    line.isDead = true
    lease.isLeased = false
    partition.abandon()
    while (line.inFlight > 0) await pause(1)
    await this.#messages.updateMany(
      { workspace: this.#workspace, writer, 'sends.state': 'claimed', due: { $exists: false } },
      { $set: { updatedAt: new Date(Date.now() - 60_000) } },
    )
    this.#open()
  }

  get line(): StoreLine {
    return this.#current.line
  }

  get waiting(): Promise<ReadonlyMap<string, { messages: number }>> {
    return this.#current.partition.waiting()
  }

  async close(): Promise<void> {
    await this.#current.partition.release()
    for (const { partition } of this.#instances) partition.abandon()
  }

  get #current(): Instance {
    return this.#instances.at(-1) as Instance
  }

  #open(): void {
    const term = ++this.#term
    const line = newStoreLine()
    const messages = faultyMessages(this.#messages, line, () => {})
    const lease = {
      ...{ generation: 1, partition: this.#workspace, term, repeatsUntil: undefined },
      isLeased: true,
      isValid: (): boolean => lease.isLeased,
    }
    const collections = { ...this.#collections, messages }
    const threadLog = this.#behaviour.threadLog ?? noThreadLog
    const partition = openPartition({
      partitions: () => 1,
      lease,
      instance: 'i',
      log,
      collections,
      threadLog,
      nonSpeech: createNonSpeech({
        ...{ collections, channels: this.#channels, threadLog },
        ...{ retentionMs: 60_000, originalMs: this.#behaviour.originalMs ?? ORIGINAL_MS },
      }),
      heed: this.#behaviour.heed ?? noConsent.heed,
      traffic: noTraffic,
      store: createIntakeStore({ messages, recentlyStored: new RecentlyStored(), log }),
      deadLetters: { publish: () => Promise.reject(new Error('nothing here becomes a dead letter')) },
      declare: async () => {},
      committer: createCommitter(messages, 'i'),
      ...this.#runner(messages, line),
      drainMs: this.#behaviour.drainMs ?? DRAIN_MS,
    })
    this.#instances.push({ partition, writer: `i/${term}`, line, lease })
    partition.attach(this.#queue.connect())
  }

  get #channels() {
    const { config = {}, callback = 'rpc' } = this.#behaviour
    const channel = {
      _id: 1,
      hook: 'rpc',
      callback,
      handlerUrl: 'native:agents/chat',
      config,
    } as const
    return { find: async (workspace: number) => ({ ...channel, workspace }) }
  }

  /** Each instance has calls of its own; a dead one does nothing more. */
  #runner(messages: Collections['messages'], line: StoreLine) {
    const { model, parts, options, maxText, reports = false } = this.#behaviour
    const alive = async <T>(work: () => T | Promise<T>): Promise<T> => {
      if (line.isDead) return new Promise(() => {})
      const result = await work()
      return line.isDead ? new Promise(() => {}) : result
    }
    const modelClient: ModelClient = {
      ask: (choice, request) =>
        alive(async () => {
          const answer = await model(request, choice)
          return typeof answer === 'string' ? modelTurn(answer) : answer
        }),
    }
    const agents = createAgents({
      collections: { ...this.#collections, messages },
      loadAgent: async ({ kind }) => ({ kind: 'found', agent: agentOf(this.#workspace, kind.type) }),
      choicesOf: () => ({ kind: 'choices', choices: [{ provider: 'openai', model: 'm' }] }),
      promptOf: ({ agent }) => ({ system: agent.assistant.name, data: { now: 'then' } }),
      usage: createUsage({
        collections: this.#collections,
        tokensPerDay: this.#behaviour.tokensPerDay ?? TOKENS_PER_DAY,
        metrics: createMetrics(new Registry()),
        log,
        now: Date.now,
      }),
      hearing: { canHear: () => false, hear: () => Promise.reject(new Error('nobody hears')) },
      toolImages: createToolImages(),
      mediaSlots: createMediaSlots(),
      model: modelClient,
      askSeeing: createAskSeeing({
        model: modelClient,
        http: { getBytes: () => Promise.reject(new Error()) },
      }),
      openToolbox: async () => ({
        descriptions: [{ name: 'note', description: '', inputSchema: { type: 'object' } }],
        sourceOf: (name) => {
          const { actionOf = () => 1 } = this.#behaviour
          return { name, ...defined({ action: actionOf(name) }) }
        },
        open: async (call) => this.#openTool(call, alive),
      }),
      showTyping: () => {},
      notifyHandOff: () => undefined,
      ...parts,
    })
    const deliver: Callback['deliver'] = (delivery) => alive(() => this.#deliver(delivery))
    const callback: Callback = { reports, deliver, ...defined({ maxText }) }
    const run = createDeliverMessage(
      deliveryOptions(callback, {
        agents,
        read: (_id) => messages.findOne({ _id }),
        channels: this.#channels,
        ...options,
      }),
    )
    return { run, modelCalls: agents.calls }
  }

  #openTool(
    call: Parameters<Toolbox['open']>[0],
    alive: <T>(work: () => T | Promise<T>) => Promise<T>,
  ): OpenedTool {
    const opened = this.#behaviour.open?.(call) ?? { kind: 'invalid', reason: `There is no ${call.tool}.` }
    if (opened.kind !== 'call') return opened
    return { ...opened, deliver: (id) => alive(() => opened.deliver(id)) }
  }

  async #deliver(delivery: Delivery): Promise<Outcome> {
    const outcome = (await this.#behaviour.send?.(delivery)) ?? { kind: 'accepted', delivered: true }
    const { id, content } = delivery
    const text = content.kind === 'template' ? content.template : textOfContent(content)
    if (outcome.kind === 'accepted' || outcome.kind === 'uncertain') this.sent.push({ id, text })
    return outcome
  }
}

export function agentOf(workspace: number, type: TurnAgent): Agent {
  return {
    workspace,
    kind: AGENT_KINDS[type],
    assistant: { _id: 1, name: 'Ana', description: '', backstory: '' },
    actions: [],
    configs: new Map(),
    workflows: [],
  }
}
