import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib'
import type { Log } from '../log.ts'
import { openChannel } from './connection.ts'
import type { Publisher } from './publisher.ts'
import { DEAD_LETTER_EXCHANGE, DEAD_LETTER_QUEUE } from './topology.ts'

const PREFETCH = 100

/** A delivery that can't be worked, however often it is tried, and why. */
export interface DeadLetter {
  delivery: ConsumeMessage
  reason: string
}

/** The queue that is consumed, and how. */
export interface ConsumerOptions {
  queue: string
  /** How many deliveries may be in flight; 100 by default. */
  prefetch?: number
  /** The arguments of the consumer, asked for on each new channel. */
  consumerArguments?(): Promise<Record<string, unknown>>
  /** A channel consumes now. */
  consuming?(channel: Channel): void
  /** The broker's node can't have the queue consumed, as one without a running replica of a stream: another one may. */
  refused?(): void
  /** Declares the queue again when somebody has deleted it. */
  declare(): Promise<void>
  /** True when consuming is ours to do; it always is by default. */
  isActive?(): boolean
  /** Where dead letters go; without it nothing may become one. */
  deadLetters?: Pick<Publisher, 'publish'>
  log: Log
}

/**
 * Works a delivery: it is acked once this resolves. What resolves with a dead letter goes to `messages.rejected`
 * first. One that rejects is left to the next consumer. Called in the order of arrival.
 */
export type Take = (delivery: ConsumeMessage) => Promise<DeadLetter | undefined>

/** The deliveries of one channel. */
export interface Deliveries {
  /** When the oldest delivery in flight was published, in milliseconds since the epoch; undefined without one. */
  oldestAt(): number | undefined
  /** Takes nothing more, waits for what is taken, acks it, and closes the channel: the rest is delivered again. */
  close(): Promise<void>
  /** Closes the channel at once. */
  abandon(): void
}

/** One channel's state, as the taking of its deliveries may ask for it. */
export interface OpenChannel {
  channel: Channel
  /** True when what is not begun yet may begin. */
  isActive(): boolean
}

/**
 * Consumes a queue on a channel of its own, without waiting for what came before. This is the only place that decides
 * what becomes of a delivery. What is done is acked in the order of arrival, many with one ack. After one that is left
 * the channel is closed: all behind it come again.
 */
export async function openDeliveries(
  options: ConsumerOptions & {
    connection: ChannelModel
    taking(open: OpenChannel): Take
    closed(): void
  },
): Promise<Deliveries> {
  const { queue, prefetch = PREFETCH, connection, log } = options
  const args = await options.consumerArguments?.()
  const channel = await openChannel(connection, log)
  const deliveries = new ChannelDeliveries(channel, options)
  await channel.prefetch(prefetch)
  options.consuming?.(channel)
  const deliver = (delivery: ConsumeMessage | null) => deliveries.deliver(delivery)
  await channel.consume(queue, deliver, args === undefined ? {} : { arguments: args })
  return deliveries
}

/** The part of a delivery that is needed until it is acked: the rest may be large, and is done with before. */
interface InFlight {
  deliveryTag: number
  /** When it was published, in seconds since the epoch, where that is known. */
  timestamp: unknown
  isDone: boolean
}

class ChannelDeliveries implements Deliveries {
  readonly #channel: Channel
  readonly #options: Parameters<typeof openDeliveries>[0]
  readonly #take: Take
  readonly #inFlight: InFlight[] = []
  #taken = 0
  #idle: PromiseWithResolvers<void> | undefined
  #isOpen = true
  #isClosing = false
  #willAck = false

  constructor(channel: Channel, options: Parameters<typeof openDeliveries>[0]) {
    this.#channel = channel
    this.#options = options
    this.#take = options.taking({ channel, isActive: () => this.#isActive() })
    channel.once('close', () => {
      this.#isOpen = false
      this.#inFlight.length = 0
      options.closed()
    })
  }

  oldestAt(): number | undefined {
    const seconds = this.#inFlight[0]?.timestamp
    return typeof seconds === 'number' ? seconds * 1_000 : undefined
  }

  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#taken > 0) {
      this.#idle ??= Promise.withResolvers()
      await this.#idle.promise
    }
    if (this.#isOpen) this.#ackDone()
    await this.#channel.close().catch(() => {})
  }

  abandon(): void {
    if (!this.#isOpen) return
    // On a channel that closes, to ack what was done a moment ago would throw.
    this.#isOpen = false
    void this.#channel.close().catch(() => {})
  }

  /** Takes what the broker hands over; null once it has cancelled the consumer. */
  deliver(delivery: ConsumeMessage | null): void {
    if (delivery === null) return void this.close()
    if (!this.#isOpen || this.#isClosing) return
    // A delivery that is not acked would stay here for good, should consuming be ours again.
    if (this.#options.isActive?.() === false) return void this.abandon()
    const { fields, properties } = delivery
    const one = { deliveryTag: fields.deliveryTag, timestamp: properties.timestamp, isDone: false }
    this.#inFlight.push(one)
    this.#taken++
    const left = (error: unknown) => this.#left(error)
    this.#take(delivery)
      .then((dead) => (dead === undefined ? this.#done(one) : this.#deadLetter(dead, one)), left)
      .then(() => {
        if (--this.#taken === 0) this.#idle?.resolve()
      })
  }

  #isActive(): boolean {
    return this.#isOpen && !this.#isClosing && this.#options.isActive?.() !== false
  }

  #done(one: InFlight): void {
    one.isDone = true
    if (this.#willAck || this.#inFlight[0]?.isDone !== true) return
    this.#willAck = true
    setImmediate(() => this.#ackDone())
  }

  #ackDone(): void {
    this.#willAck = false
    const first = this.#inFlight.findIndex(({ isDone }) => !isDone)
    const last = this.#inFlight.splice(0, first < 0 ? this.#inFlight.length : first).at(-1)
    // Of what was delivered amqplib reads the tag alone.
    if (last !== undefined && this.#isOpen)
      this.#channel.ack({ fields: { deliveryTag: last.deliveryTag } } as ConsumeMessage, true)
  }

  #left(error: unknown): void {
    const { queue, log } = this.#options
    log.debug({ queue, reason: error instanceof Error ? error.message : 'unknown' }, 'delivery left')
    if (!this.#isClosing) this.abandon()
  }

  async #deadLetter(dead: DeadLetter, one: InFlight): Promise<void> {
    const { queue, deadLetters, log } = this.#options
    try {
      if (deadLetters === undefined) throw new Error(`nothing of ${queue} may become a dead letter`)
      await publishDeadLetter(deadLetters, dead, log)
      this.#done(one)
    } catch (error) {
      this.#left(error)
    }
  }
}

/** Publishes it with the reason, and raises an alarm. */
function publishDeadLetter(
  deadLetters: Pick<Publisher, 'publish'>,
  { delivery, reason }: DeadLetter,
  log: Log,
): Promise<void> {
  const { messageId, type, headers } = delivery.properties
  log.error({ alarm: 'message_rejected', messageId, type, reason }, 'message rejected')
  return deadLetters.publish({
    ...delivery.properties,
    exchange: DEAD_LETTER_EXCHANGE,
    routingKey: DEAD_LETTER_QUEUE,
    body: delivery.content,
    headers: { ...headers, reason },
    mandatory: true,
  })
}
