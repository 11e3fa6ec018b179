import { setTimeout as pause } from 'node:timers/promises'
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib'
import type { Log } from '../log.ts'
import type { Follower } from './connection.ts'
import {
  type ConsumerOptions,
  type DeadLetter,
  type Deliveries,
  type OpenChannel,
  openDeliveries,
  type Take,
} from './deliveries.ts'

const REOPEN_MS = 500
const RETRY_MS = 500
const NOT_FOUND = 404
const PRECONDITION_FAILED = 406

/** A consumer that outlives its channel and its connection. */
export interface Consumer extends Follower {
  /** Consumes on this connection from now on. */
  attach(connection: ChannelModel): void
  /** When the oldest delivery in flight was published, in milliseconds since the epoch. */
  oldestAt(): number | undefined
  /** True when a channel consumes at the moment. */
  isConsuming(): boolean
  /** Lets what has begun end, and stops: what is not acked goes to the next consumer. */
  close(): Promise<void>
  /** Stops at once. */
  abandon(): void
}

/** Consumes a queue as it arrives while it is active; see {@link openDeliveries}. */
export function consumeEach(options: ConsumerOptions & { take: Take }): Consumer {
  return new ReopeningConsumer(options, () => options.take)
}

interface BatchOptions extends ConsumerOptions {
  /** Leaves out of a delivery what working it does not need, before it waits in memory. */
  strip?(delivery: ConsumeMessage): ConsumeMessage
  /** Works a batch whole and returns the dead letters in it, or rejects: then the same batch comes again. */
  work(batch: ConsumeMessage[], channel: Channel): Promise<DeadLetter[]>
}

/**
 * Consumes a queue in batches, one at a time, of up to `prefetch` deliveries. A batch that could not be worked is
 * tried again each half second while the consumer is active.
 */
export function consumeBatches(options: BatchOptions): Consumer {
  return new ReopeningConsumer(options, (open) => inBatches(options, open))
}

interface Pending {
  delivery: ConsumeMessage
  outcome: PromiseWithResolvers<DeadLetter | undefined>
}

function inBatches(
  { queue, strip = (delivery) => delivery, work, log }: BatchOptions,
  { channel, isActive }: OpenChannel,
): Take {
  const pending: Pending[] = []
  let working = false
  const workUntilDone = async (batch: Pending[]) => {
    const deliveries = batch.map(({ delivery }) => delivery)
    while (isActive()) {
      try {
        const dead = new Map((await work(deliveries, channel)).map((one) => [one.delivery, one]))
        for (const { delivery, outcome } of batch) outcome.resolve(dead.get(delivery))
        return
      } catch (error) {
        logRetry(log, queue, error)
        await pause(RETRY_MS)
      }
    }
    for (const { outcome } of batch) outcome.reject(new Error('left to the next consumer'))
  }
  const workAll = async () => {
    working = true
    while (pending.length > 0) await workUntilDone(pending.splice(0))
    working = false
  }
  return (delivery) => {
    const outcome = Promise.withResolvers<DeadLetter | undefined>()
    pending.push({ delivery: strip(delivery), outcome })
    if (!working) void workAll()
    return outcome.promise
  }
}

function logRetry(log: Log, queue: string, error: unknown): void {
  const reason = error instanceof Error ? error.message : 'unknown'
  log.warn({ queue, reason }, 'batch not worked yet: trying again')
}

/**
 * Opens a channel anew half a second after it was closed on a live connection, once the consumer is active, and
 * declares the queue where it is gone; a new connection is given by `attach`.
 */
class ReopeningConsumer implements Consumer {
  readonly #options: ConsumerOptions
  readonly #taking: (open: OpenChannel) => Take
  #connection: ChannelModel | undefined
  #deliveries: Deliveries | undefined
  /** Stands for the channel, also while it is still being opened. */
  #current: object | undefined
  /** The closing of earlier channels, which wait for what they have taken. */
  #ended: Promise<unknown> = Promise.resolve()
  #reopening: NodeJS.Timeout | undefined
  #isClosed = false
  readonly #forget = () => {
    this.#connection = undefined
  }

  constructor(options: ConsumerOptions, taking: (open: OpenChannel) => Take) {
    this.#options = options
    this.#taking = taking
  }

  attach(connection: ChannelModel): void {
    if (this.#connection === connection) return
    this.#connection?.off('close', this.#forget)
    this.#connection = connection.once('close', this.#forget)
    this.#closeChannel()
    void this.#open(connection)
  }

  oldestAt(): number | undefined {
    return this.#deliveries?.oldestAt()
  }

  isConsuming(): boolean {
    return this.#deliveries !== undefined
  }

  async close(): Promise<void> {
    this.#stop()
    this.#closeChannel()
    await this.#ended
  }

  abandon(): void {
    this.#stop()
    this.#deliveries?.abandon()
  }

  async #open(connection: ChannelModel): Promise<void> {
    if (this.#isClosed || this.#connection !== connection || this.#current !== undefined) return
    if (!this.#isActive()) return this.#reopen(connection)
    const own = {}
    this.#current = own
    const closed = () => {
      if (this.#current !== own) return
      this.#closeChannel()
      this.#reopen(connection)
    }
    try {
      const opened = await openDeliveries({ ...this.#options, connection, taking: this.#taking, closed })
      if (this.#current === own && this.#isActive()) this.#deliveries = opened
      else opened.abandon()
    } catch (error) {
      const { queue, declare, log } = this.#options
      log.warn({ queue, reason: error instanceof Error ? error.message : 'unknown' }, 'queue not consumed')
      const { code } = error as { code?: unknown }
      if (code === NOT_FOUND) await declare().catch(() => undefined)
      if (code === PRECONDITION_FAILED) this.#refused(connection)
      else closed()
    }
  }

  #refused(connection: ChannelModel): void {
    const { refused = () => this.#open(connection) } = this.#options
    this.#closeChannel()
    this.#later(() => void (this.#connection === connection && refused()))
  }

  #reopen(connection: ChannelModel): void {
    this.#later(() => void this.#open(connection))
  }

  #later(act: () => void): void {
    clearTimeout(this.#reopening)
    if (!this.#isClosed) this.#reopening = setTimeout(act, REOPEN_MS)
  }

  #closeChannel(): void {
    this.#current = undefined
    this.#ended = Promise.all([this.#ended, this.#deliveries?.close().catch(() => {})])
    this.#deliveries = undefined
  }

  #isActive(): boolean {
    return !this.#isClosed && this.#options.isActive?.() !== false
  }

  #stop(): void {
    this.#isClosed = true
    clearTimeout(this.#reopening)
    this.#connection?.off('close', this.#forget)
  }
}
