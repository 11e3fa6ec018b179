import type { Log } from '@parley/shared/log'
import type { DeadLetter } from '@parley/shared/messaging/deliveries'
import type { ReceivedContent } from '@parley/shared/providers/inbound'
import type { ConsumeMessage } from 'amqplib'
import type { Threads } from '../schedule/threads.ts'
import type { NonSpeech, Unspoken } from './non-speech.ts'
import { readDelivery } from './read-delivery.ts'
import type { Arrived, StoreDeliveries } from './store-deliveries.ts'

const RETRY_MS = 500

/** Takes what arrives at a partition, until it is safe in the store. */
export interface Intake {
  /**
   * Resolves when the delivery may be acked, with a dead letter when it can't be stored; rejects when it is left to
   * the next owner of the lease.
   */
  take(delivery: ConsumeMessage): Promise<DeadLetter | undefined>
  /** Rejects whatever is not stored yet. */
  close(): void
}

interface IntakeOptions {
  partition: number
  /** Whether the lease is valid. */
  isLeased(): boolean
  /** What was published before that may be in the store already, wherever it was delivered before. */
  repeatsUntil: Date | undefined
  /** The order of the first delivery under this lease; each later one has the next. */
  firstSequenceNumber: number
  /** Rejects when it could not store all: the same may be given again. */
  store: StoreDeliveries
  nonSpeech: NonSpeech
  threads: Pick<Threads, 'add' | 'wake' | 'interrupt'>
  log: Log
}

/**
 * Stores what arrives, in batches and in order, and only then has it run and acked: what arrives while a batch is stored
 * is the next one. What is no speech does not run (see {@link NonSpeech}).
 */
export function createIntake(options: IntakeOptions): Intake {
  return new PartitionIntake(options)
}

class PartitionIntake implements Intake {
  readonly #options: IntakeOptions
  #arrived: Arrived[] = []
  #nextSequenceNumber: number
  #working = false
  #closed = false

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#nextSequenceNumber = options.firstSequenceNumber
  }

  take(delivery: ConsumeMessage): Promise<DeadLetter | undefined> {
    const safe = Promise.withResolvers<DeadLetter | undefined>()
    const order = this.#nextSequenceNumber++
    const reading = readDelivery(delivery)
    const redelivered = delivery.fields.redelivered || this.#mayRepeat(delivery)
    const origin = reading.kind === 'message' ? undefined : delivery
    this.#arrived.push({ reading, redelivered, delivery: origin, order, safe })
    if (!this.#working) void this.#workAll()
    return safe.promise
  }

  close(): void {
    this.#closed = true
    for (const { safe } of this.#arrived.splice(0)) safe.reject(abandoned())
  }

  /** What a publisher says of the time counts to the second. */
  #mayRepeat({ properties: { timestamp } }: ConsumeMessage): boolean {
    const { repeatsUntil } = this.#options
    return repeatsUntil !== undefined && Number(timestamp) * 1_000 <= repeatsUntil.getTime()
  }

  async #workAll(): Promise<void> {
    this.#working = true
    // What came in one read of the socket is one batch.
    await Promise.resolve()
    while (this.#arrived.length > 0) await this.#retry(this.#arrived.splice(0))
    this.#working = false
  }

  /** Works a batch until it is done, or no longer ours to do. */
  async #retry(batch: Arrived[]): Promise<void> {
    for (;;) {
      try {
        return await this.#work(batch)
      } catch (error) {
        if (!this.#active()) {
          for (const { safe } of batch) safe.reject(abandoned())
          return
        }
        await this.#failed(error)
      }
    }
  }

  async #failed(error: unknown): Promise<void> {
    const { partition, log } = this.#options
    const reason = error instanceof Error ? error.message : 'unknown'
    log.warn({ partition, reason }, 'deliveries not stored yet: MongoDB is unavailable')
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }

  async #work(batch: Arrived[]): Promise<void> {
    const { store, threads } = this.#options
    if (!this.#active()) throw abandoned()
    const unspoken = await this.#beginUnspoken(batch)
    const spoken = batch.filter((arrived) => !unspoken.has(arrived))
    const { stored, earlier } = await store(spoken)
    // First what is older: a thread that is not known here must not begin with what came after it.
    for (const record of earlier)
      if (record.takenOver === undefined) threads.wake(record)
      else threads.interrupt(record)
    for (const record of stored) threads.add(record)
    for (const { reading, delivery, safe } of spoken)
      safe.resolve(reading.kind === 'rejected' && delivery ? { delivery, reason: reading.reason } : undefined)
    for (const [arrived, one] of unspoken) void this.#settleUnspoken(arrived, one)
  }

  /** What of a batch is no speech, once it has begun. */
  async #beginUnspoken(batch: Arrived[]): Promise<Map<Arrived, Unspoken>> {
    const { partition, nonSpeech } = this.#options
    const unspoken = new Map<Arrived, Unspoken>()
    const begin = async (arrived: ArrivedMessage, content: ReceivedContent) => {
      const { message } = arrived.reading
      const one = { record: { ...message, partition }, content }
      if (await nonSpeech.begin(one, this.#partitionThreads)) unspoken.set(arrived, one)
      else message.inbound = true
    }
    const begun: Promise<void>[] = []
    for (const arrived of batch) {
      const content = isMessage(arrived) ? arrived.reading.unspoken : undefined
      if (content !== undefined) begun.push(begin(arrived as ArrivedMessage, content))
    }
    await Promise.all(begun)
    return unspoken
  }

  /** It is safe once it has taken effect and is stored, which nothing else waits for. */
  async #settleUnspoken(arrived: Arrived, unspoken: Unspoken): Promise<void> {
    const { nonSpeech, store } = this.#options
    const { safe } = arrived
    for (;;) {
      try {
        const message = await nonSpeech.settle(unspoken, this.#partitionThreads)
        if (!this.#active()) throw abandoned()
        await store([{ ...arrived, reading: { kind: 'message', message } }])
        return safe.resolve(undefined)
      } catch (error) {
        if (!this.#active()) return safe.reject(abandoned())
        await this.#failed(error)
      }
    }
  }

  get #partitionThreads() {
    const { threads } = this.#options
    return { isActive: () => this.#active(), interrupt: threads.interrupt.bind(threads) }
  }

  #active(): boolean {
    return !this.#closed && this.#options.isLeased()
  }
}

const abandoned = () => new Error('left to the next owner of the lease')

type ArrivedMessage = Arrived & { reading: { kind: 'message' } }

const isMessage = (arrived: Arrived): arrived is ArrivedMessage => arrived.reading.kind === 'message'
