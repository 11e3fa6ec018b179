import { EventEmitter } from 'node:events'
import type { ChannelModel, ConsumeMessage } from 'amqplib'

interface Queued {
  messageId: string
  properties: ConsumeMessage['properties']
  content: Buffer
  redelivered: boolean
}

/**
 * One quorum queue with a single active consumer, as RabbitMQ has it: up to `prefetch` deliveries in flight, and
 * those that are not acked when a channel closes come again first, marked as redelivered. A broker in memory, so that
 * a test can say when what is delivered; the tests of the whole dispatcher use RabbitMQ.
 */
export class MemoryQueue {
  readonly #acked: (messageId: string) => void
  /** True if redeliveries are marked as such: a broker that lost a node may not know. */
  marksRedelivered = true
  #ready: Queued[] = []
  /** The first one is active. */
  #channels: MemoryChannel[] = []

  constructor(acked: (messageId: string) => void) {
    this.#acked = acked
  }

  publish(message: Omit<Queued, 'redelivered'>): void {
    this.#ready.push({ ...message, redelivered: false })
    this.#deliver()
  }

  /** Messages that are not acked. */
  get size(): number {
    return this.#ready.length + this.#channels.reduce((sum, { inFlight }) => sum + inFlight.size, 0)
  }

  /** A connection of its own, for `Partition.attach`. */
  connect(): ChannelModel {
    const createChannel = async () =>
      new MemoryChannel({
        consuming: (channel) => {
          this.#channels.push(channel)
          this.#deliver()
        },
        acked: (messageId) => {
          this.#acked(messageId)
          this.#deliver()
        },
        closed: (channel) => this.#requeue(channel),
      })
    return Object.assign(new EventEmitter(), { createChannel }) as unknown as ChannelModel
  }

  /** Closes the channel that consumes, as a broker does whose node goes down. */
  async breakChannel(): Promise<void> {
    await this.#channels[0]?.close()
  }

  #requeue(channel: MemoryChannel): void {
    this.#channels = this.#channels.filter((one) => one !== channel)
    const again = [...channel.inFlight.values()].map((message) => ({
      ...message,
      redelivered: this.marksRedelivered,
    }))
    this.#ready = [...again, ...this.#ready]
    this.#deliver()
  }

  #deliver(): void {
    const [active] = this.#channels
    while (active?.hasRoom && this.#ready.length > 0) active.deliver(this.#ready.shift() as Queued)
  }
}

interface ChannelEvents {
  consuming(channel: MemoryChannel): void
  acked(messageId: string): void
  closed(channel: MemoryChannel): void
}

class MemoryChannel extends EventEmitter {
  readonly inFlight = new Map<number, Queued>()
  readonly #events: ChannelEvents
  #prefetch = 0
  #tag = 0
  #take: ((delivery: ConsumeMessage) => void) | undefined
  #open = true

  constructor(events: ChannelEvents) {
    super()
    this.#events = events
  }

  get hasRoom(): boolean {
    return this.#open && this.inFlight.size < this.#prefetch
  }

  async prefetch(count: number): Promise<void> {
    this.#prefetch = count
  }

  async consume(_queue: string, take: (delivery: ConsumeMessage) => void): Promise<void> {
    this.#take = take
    this.#events.consuming(this)
  }

  deliver(message: Queued): void {
    const deliveryTag = ++this.#tag
    this.inFlight.set(deliveryTag, message)
    const { content, properties, redelivered } = message
    const delivery = { content, properties, fields: { deliveryTag, redelivered } }
    // As from a socket: what arrives together is taken one after the other, without a pause.
    setImmediate(() => {
      if (this.#open) this.#take?.(delivery as ConsumeMessage)
    })
  }

  ack({ fields }: ConsumeMessage, allUpTo: boolean): void {
    if (!this.#open) throw new Error('the channel is closed')
    const tags = [...this.inFlight.keys()]
    const acked = allUpTo ? tags.filter((tag) => tag <= fields.deliveryTag) : [fields.deliveryTag]
    for (const tag of acked) {
      const { messageId } = this.inFlight.get(tag) as Queued
      this.inFlight.delete(tag)
      this.#events.acked(messageId)
    }
  }

  async close(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    this.#events.closed(this)
    this.emit('close')
  }
}
