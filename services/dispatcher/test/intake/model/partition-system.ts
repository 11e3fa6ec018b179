import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import { MESSAGE_TYPE } from '@parley/shared/message'
import { STATUS_TYPE } from '@parley/shared/message-status'
import type { Publication } from '@parley/shared/messaging/publish-observer'
import type { ConsumeMessage } from 'amqplib'
import { Registry } from 'prom-client'
import { createModelCalls } from '../../../src/agents/turns/model-calls.ts'
import type { Callback } from '../../../src/channels/callback.ts'
import type { Admission } from '../../../src/channels/endpoints/endpoints.ts'
import { createDeliverMessage } from '../../../src/deliver/deliver-message.ts'
import { createIntakeStore } from '../../../src/intake/intake-store.ts'
import { openPartition } from '../../../src/intake/open-partition.ts'
import type { Outcome } from '../../../src/message/outcome.ts'
import { createMetrics } from '../../../src/metrics/metrics.ts'
import type { Partition } from '../../../src/schedule/partitions.ts'
import { startEarlyStatuses } from '../../../src/statuses/early-statuses.ts'
import { workStatuses } from '../../../src/statuses/work-statuses.ts'
import type { Collections } from '../../../src/store/collections.ts'
import { createCommitter, statusWriter } from '../../../src/store/commit.ts'
import type { Lease } from '../../../src/store/lease-store.ts'
import { RecentlyStored } from '../../../src/store/recently-stored.ts'
import { deliveryOptions } from '../../delivery-options.ts'
import { noConsent } from '../../no-consent.ts'
import { noNonSpeech, noThreadLog } from '../../no-threads.ts'
import { noTraffic } from '../../no-traffic.ts'
import { faultyMessages, newStoreLine, type StoreFailure, type StoreLine } from './faulty-messages.ts'
import { MemoryQueue } from './memory-queue.ts'

const THREADS = 2
const UNCERTAIN_MS = 30
const SETTLE_MS = 60_000
const log = createLog({ service: 'test', level: 'silent' })
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
/** An instance that works the partition, or did. */
interface Instance {
  partition: Partition
  writer: string
  line: StoreLine
  lease: Lease & { isLeased: boolean }
}

/** How the provider takes the next send; what fails later is reported by our id of it, or by the provider's alone. */
export type ProviderFailure = 'refuses' | 'answer lost' | 'fails later' | 'fails later, unnamed'

/** The provider decides the meaning of a code. */
const SOURCE = 'meta'
const AGAIN_SOON = 131000
const NO_MESSAGE = ''
const systems = new Map<number, PartitionSystem>()

/**
 * One partition of the real dispatcher on the real MongoDB: the consumer, the intake, the threads, the runner and the
 * committer; a queue in memory, and a provider that counts. Written down are all violations of what must hold.
 */
export class PartitionSystem {
  readonly violations: string[] = []
  /** The ids that were sent, in order. */
  readonly sent: string[] = []
  /** The ids that were published, in the order of their first time. */
  readonly published: string[] = []
  readonly #workspace: number
  readonly #messages: Collections['messages']
  readonly #rejected: Collections['rejected']
  readonly #audited: Collections['audited']
  readonly #queue: MemoryQueue
  readonly #stored = new Set<string>()
  readonly #instances: Instance[] = []
  readonly #providerFailures: ProviderFailure[] = []
  readonly #applyStatuses: ReturnType<typeof workStatuses>
  readonly #earlyStatuses: Collections['earlyStatuses']
  readonly #early: ReturnType<typeof startEarlyStatuses>
  /** How many sends of a message the provider reported as failed after it had taken them. */
  readonly #failedLater = new Map<string, number>()
  /** True if the messages of a thread wait for those before them. */
  readonly #isOrdered: boolean
  #providerMs = 0
  /** The circuit breaker of the provider lets nothing through until then (milliseconds since the epoch). */
  #closesAt = 0
  #statusesInFlight = 0
  #term = 0

  /** Each system has a workspace and a partition of its own, so that many can share a database. */
  constructor(options: { number: number; isOrdered: boolean; collections: Collections }) {
    const { number, isOrdered, collections } = options
    this.#workspace = number
    this.#isOrdered = isOrdered
    this.#messages = collections.messages
    this.#rejected = collections.rejected
    this.#audited = collections.audited
    const committer = createCommitter(this.#messages, statusWriter('provider'))
    const statusWork = {
      collections: options.collections,
      committer,
      metrics: createMetrics(new Registry()),
      traffic: noTraffic,
      recordConsent: noConsent.recordConsent,
      replica: { find: async () => [] },
      publisher: { publish: async ({ body, type = '' }: Publication) => publishAgain(body, type) },
    }
    systems.set(number, this)
    this.#earlyStatuses = collections.earlyStatuses
    this.#applyStatuses = workStatuses(statusWork)
    this.#early = startEarlyStatuses({ ...statusWork, ready: Promise.resolve(), log })
    this.#queue = new MemoryQueue((id) => {
      if (id !== NO_MESSAGE && !this.#stored.has(id))
        this.violations.push(`${id} was acked before it was stored`)
    })
    this.#open()
  }

  /** Publishes a message, or once more one with the same number: a number belongs to one thread. */
  publish(number: number): void {
    const id = `${this.#workspace}-${number}`
    if (!this.published.includes(id)) this.published.push(id)
    const headers = { workspace: this.#workspace, channel: 'c', thread: threadOf(id), source: 'api' }
    const message = { extId: 'c', user: { phone: '1' }, thread: {}, answer: { message: 'hi' } }
    this.#queue.publish({
      messageId: id,
      content: Buffer.from(JSON.stringify(message)),
      properties: { messageId: id, type: MESSAGE_TYPE, headers } as unknown as ConsumeMessage['properties'],
    })
  }

  /** Runs again what failed after the provider had taken it. */
  publishReplay(content: Buffer, type: string): void {
    this.#queue.publish({
      messageId: NO_MESSAGE,
      content,
      properties: { type } as unknown as ConsumeMessage['properties'],
    })
  }

  breakChannel(): Promise<void> {
    return this.#queue.breakChannel()
  }

  /** From now on the broker says what comes again, or it does not. */
  markRedelivered(marks: boolean): void {
    this.#queue.marksRedelivered = marks
  }

  disturbStore(failures: StoreFailure[], slowMs: number): void {
    const { line } = this.#current
    line.failures = [...failures]
    line.slowMs = slowMs
  }

  disturbProvider(failures: ProviderFailure[], ms: number): void {
    this.#providerFailures.splice(0, this.#providerFailures.length, ...failures)
    this.#providerMs = ms
  }

  openBreaker(ms: number): void {
    this.#closesAt = Date.now() + ms
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
    const { line, partition, writer } = this.#current
    line.isDead = true
    this.#current.lease.isLeased = false
    partition.abandon()
    while (line.inFlight > 0) await pause(1)
    await this.#messages.updateMany(
      { workspace: this.#workspace, writer, 'sends.state': 'claimed', due: { $exists: false } },
      { $set: { updatedAt: new Date(Date.now() - 60_000) } },
    )
    this.#open()
  }

  /** Everything works again: waits until nothing is left to do, then checks what must hold. */
  async settle(): Promise<void> {
    this.disturbStore([], 0)
    this.disturbProvider([], 0)
    this.openBreaker(0)
    if (!(await waitUntil(() => this.#isDone(), { timeoutMs: SETTLE_MS })))
      this.violations.push(`not done: ${await this.#unfinished()}`)
    await this.#current.partition.release()
    for (const { partition } of this.#instances) partition.abandon()
    await this.#early.stop()
    this.#checkSent()
  }

  #checkSent(): void {
    for (const id of this.published) {
      const times = this.sent.filter((one) => one === id).length
      const failed = this.#failedLater.get(id) ?? 0
      if (times !== 1 + failed) this.violations.push(`${id} was sent ${times} times, and failed ${failed}`)
    }
    for (let thread = 0; this.#isOrdered && thread < THREADS; thread++) {
      const ofThread = (ids: string[]) => [...new Set(ids)].filter((id) => threadOf(id) === `t${thread}`)
      const [sent, published] = [ofThread(this.sent).join(), ofThread(this.published).join()]
      if (sent !== published) this.violations.push(`thread ${thread} was sent ${sent}, not ${published}`)
    }
  }

  async #isDone(): Promise<boolean> {
    if (this.#queue.size > 0 || this.#statusesInFlight > 0) return false
    const ended = {
      workspace: this.#workspace,
      open: { $exists: false },
      'sends.retryAt': { $exists: false },
      state: 'sent' as const,
    }
    if ((await this.#messages.countDocuments(ended)) !== this.published.length) return false
    return (await this.#earlyStatuses.countDocuments({ _id: new RegExp(`^${this.#workspace}/`) })) === 0
  }

  async #unfinished(): Promise<string> {
    const records = await this.#messages.find({ workspace: this.#workspace, open: true }).toArray()
    const messages = records.map(({ _id, state, sends }) => `${_id} ${state} ${sends[0]?.state}`)
    return `${this.#queue.size} in the queue, ${messages.join(', ')}`
  }

  get #current(): Instance {
    return this.#instances.at(-1) as Instance
  }

  #open(): void {
    const term = ++this.#term
    const line = newStoreLine()
    const messages = faultyMessages(this.#messages, line, (ids) => {
      for (const id of ids) this.#stored.add(id)
    })
    const lease = {
      ...{ generation: 1, partition: this.#workspace, term, repeatsUntil: undefined },
      isLeased: true,
      isValid: (): boolean => lease.isLeased,
    }
    const partition = openPartition({
      partitions: () => 1,
      lease,
      instance: 'i',
      log,
      collections: { messages, rejected: this.#rejected, audited: this.#audited },
      threadLog: noThreadLog,
      nonSpeech: noNonSpeech,
      heed: noConsent.heed,
      traffic: noTraffic,
      store: createIntakeStore({ messages, recentlyStored: new RecentlyStored(), log }),
      deadLetters: { publish: () => Promise.reject(new Error('nothing here becomes a dead letter')) },
      declare: async () => {},
      committer: createCommitter(messages, 'i'),
      run: this.#runner(messages, line),
      modelCalls: createModelCalls(),
    })
    this.#instances.push({ partition, writer: `i/${term}`, line, lease })
    partition.attach(this.#queue.connect())
  }

  #runner(messages: Collections['messages'], line: StoreLine) {
    const deliver = (messageId: string) => this.#deliver(messageId, line)
    const callback: Callback = {
      reports: true,
      urlOf: () => 'http://provider.example/',
      deliver: (call) => deliver(call.messageId),
    }
    return createDeliverMessage(
      deliveryOptions(callback, {
        read: (_id) => messages.findOne({ _id }),
        channels: {
          find: async (workspace) => ({
            ...{ _id: 1, workspace, hook: 'whatsapp', callback: 'whatsapp', handlerUrl: '' },
            config: { ordered: this.#isOrdered },
          }),
        },
        endpoints: { enter: () => this.#enter() },
        statuses: {
          clearSince: () => 0,
          consumedUntil: () => (this.#statusesInFlight > 0 ? 0 : Date.now()),
        },
        uncertainWindow: UNCERTAIN_MS,
      }),
    )
  }

  #enter(): Admission {
    const until = this.#closesAt
    return until > Date.now()
      ? { kind: 'wait', until, for: 'circuit_breaker', reason: 'It does not answer.' }
      : { kind: 'entered', leave: () => {} }
  }

  async #deliver(id: string, line: StoreLine): Promise<Outcome> {
    if (line.isDead) return new Promise(() => {})
    const failure = this.#providerFailures.shift()
    if (failure === 'refuses')
      return {
        kind: 'retryable',
        code: '130429',
        fault: 'provider',
        reason: 'later',
        retryAfterSeconds: 0.02,
      }
    this.sent.push(id)
    const providerId = `p${this.#workspace}-${this.sent.length}`
    const failsLater = failure?.startsWith('fails later') === true
    if (failsLater) this.#failedLater.set(id, (this.#failedLater.get(id) ?? 0) + 1)
    this.#statusesInFlight++
    const ms = this.#providerMs
    const record = await this.#messages.findOne({ _id: id })
    const state = record?.sends[0]?.state
    if (state !== 'claimed') this.violations.push(`${id} was sent while the store had it as ${state}`)
    setTimeout(() => void this.#report(id, { providerId, failure }), ms)
    await pause(ms)
    if (line.isDead) return new Promise(() => {})
    if (failure === 'answer lost')
      return { kind: 'uncertain', code: 'no_answer', fault: 'provider', reason: 'no answer' }
    return { kind: 'accepted', providerId, delivered: false }
  }

  async #report(
    id: string,
    { providerId, failure }: { providerId: string; failure: ProviderFailure | undefined },
  ): Promise<void> {
    const statusOf = (change: object) => {
      const body = {
        ...{ workspace: this.#workspace, channel: 'c', providerId, opaque: `${id}:0`, status: 'sent' },
        ...{ at: new Date().toISOString(), recipient: null, ...change },
      }
      const content = Buffer.from(JSON.stringify(body))
      return {
        content,
        properties: { type: STATUS_TYPE, headers: { source: SOURCE } },
      } as unknown as ConsumeMessage
    }
    await this.#applyStatuses([statusOf({})])
    if (failure?.startsWith('fails later') === true) {
      const opaque = failure === 'fails later' ? `${id}:0` : null
      const failed = statusOf({ status: 'failed', opaque, errors: [{ code: AGAIN_SOON }] })
      // Providers repeat what they report.
      await this.#applyStatuses([failed])
      await this.#applyStatuses([failed])
    }
    this.#statusesInFlight--
  }
}

/** Statuses that came early are applied by whichever system looks first. */
function publishAgain(body: Buffer, type: string): void {
  systems.get(JSON.parse(body.toString()).workspace)?.publishReplay(body, type)
}

function threadOf(id: string): string {
  return `t${Number(id.split('-')[1]) % THREADS}`
}
