import type { Writable } from 'node:stream'
import type { ChannelModel, ConfirmChannel, Options } from 'amqplib'
import type { Log } from '../log.ts'
import { Problem } from '../problem.ts'
import { type Broker, openConfirmChannel } from './connection.ts'
import { createInFlight, type Unconfirmed } from './in-flight.ts'
import type { Publication, PublishObserver } from './publish-observer.ts'

const MAX_UNCONFIRMED = 5_000
const MAX_UNCONFIRMED_BYTES = 128 * 1024 * 1024
const CONFIRM_MS = 4_500
const REOPEN_MS = 500

export interface Publisher {
  /**
   * Resolves when the broker has confirmed, so that the message is safe. Rejects with `unavailable` when there is no
   * broker, it refuses, is blocked, has no queue for a mandatory message, has not confirmed by `deadline` (on the
   * clock of `performance.now`; 4.5 s from now by default, up to 50 ms later), or 5,000 or `maxUnconfirmedBytes` wait for their
   * confirm, those that were late among them: then it is not known whether the message got there. Messages given in order
   * are published in order.
   */
  publish(publication: Publication, deadline?: number): Promise<void>
  /** True when the broker takes messages. */
  isUp(): Promise<boolean>
  /** Waits for what is in flight and closes the channel. */
  close(): Promise<void>
}

interface PublisherOptions {
  broker: Pick<Broker, 'follow' | 'declare'>
  /** Sees each publication leave and come back; it is given the count of what is in flight. */
  observe?(inFlight: () => number): PublishObserver
  /** True when all publications have headers of the same names, which makes them cheaper. */
  sameHeaders?: boolean
  /** How many bytes wait for their confirm at most; 128 MiB when not given. */
  maxUnconfirmedBytes?: number
  log: Log
}

/**
 * Publishes with confirms, on one channel that is made anew after every loss: half a second after the broker has
 * closed it on a live connection, when what it needs is also declared again, as it is when a mandatory message has no
 * queue.
 */
export function createPublisher(options: PublisherOptions): Publisher {
  const publisher = new BrokerPublisher(options)
  options.broker.follow(publisher)
  return publisher
}

class BrokerPublisher implements Publisher {
  readonly #options: PublisherOptions
  readonly #inFlight = createInFlight()
  /** Publications that the broker may still confirm, which amqplib has in memory whether or not anybody waits for them. */
  readonly #unconfirmed = { count: 0, bytes: 0 }
  readonly #observer: PublishObserver | undefined
  // amqplib makes the headers the prototype of an object, which costs more for a new one than all the rest of a publish.
  readonly #headers: object | undefined
  #connection: ChannelModel | undefined
  #channel: ConfirmChannel | undefined
  #startWriteBatch = () => {}
  #isBlocked = false
  /** Ids of messages that the broker has returned and not confirmed yet. */
  readonly #returned = new Set<string>()
  #reopening: NodeJS.Timeout | undefined
  #declaring: Promise<void> | undefined
  #closed = false

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#observer = options.observe?.(this.#inFlight.count)
    this.#headers = options.sameHeaders === true ? {} : undefined
  }

  publish(publication: Publication, deadline = performance.now() + CONFIRM_MS): Promise<void> {
    const channel = this.#channel
    if (channel === undefined || this.#isBlocked)
      return Promise.reject(unavailable('The message broker is unavailable.'))
    if (!this.#hasRoomFor(publication)) return Promise.reject(unavailable('Too many messages are in flight.'))
    this.#startWriteBatch()
    const observed = this.#observer?.started(publication)
    return new Promise((resolve, reject) => {
      const settle = (problem?: Problem) => {
        if (!this.#inFlight.end(waiting)) return
        observed?.ended(problem === undefined ? 'confirmed' : 'unavailable')
        if (problem) reject(problem)
        else resolve()
      }
      const waiting: Unconfirmed = {
        deadline,
        late: () => settle(unavailable('The message broker is slow.')),
      }
      this.#inFlight.add(waiting)
      this.#send(channel, { publication, headers: observed?.headers ?? publication.headers, settle })
    })
  }

  async isUp(): Promise<boolean> {
    return this.#channel !== undefined && !this.#isBlocked
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#reopening)
    await this.#inFlight.drained()
    await this.#channel?.close().catch(() => {})
  }

  attach(connection: ChannelModel): void {
    this.#connection = connection
    this.#isBlocked = false
    connection.once('close', () => {
      if (this.#connection === connection) this.#connection = undefined
    })
    connection.on('blocked', (reason: string) => {
      this.#isBlocked = true
      this.#options.log.error({ reason }, 'broker takes no messages')
    })
    connection.on('unblocked', () => {
      this.#isBlocked = false
    })
    void this.#open(connection)
  }

  #hasRoomFor({ body }: Publication): boolean {
    const { count, bytes } = this.#unconfirmed
    const { maxUnconfirmedBytes = MAX_UNCONFIRMED_BYTES } = this.#options
    return count < MAX_UNCONFIRMED && bytes + body.length <= maxUnconfirmedBytes
  }

  #send(
    channel: ConfirmChannel,
    sent: { publication: Publication; headers: unknown; settle(problem?: Problem): void },
  ): void {
    const { publication, settle } = sent
    const { exchange, routingKey, body, messageId } = publication
    const unconfirmed = this.#unconfirmed
    unconfirmed.count++
    unconfirmed.bytes += body.length
    let isOver = false
    const done = (cause?: Error | null) => {
      if (isOver) return
      isOver = true
      unconfirmed.count--
      unconfirmed.bytes -= body.length
      if (cause) settle(unavailable('The message broker did not take it.', cause))
      else if (publication.mandatory && this.#returned.delete(messageId ?? '')) {
        settle(unavailable('The message broker has no queue for it.'))
        this.#declareAgain()
      } else settle()
    }
    const properties: Options.Publish = {
      ...publication,
      persistent: true,
      // Where all have the same names, nothing of the one before is left.
      headers: this.#headers === undefined ? sent.headers : Object.assign(this.#headers, sent.headers),
    }
    properties.contentType ??= 'application/json'
    properties.timestamp ??= Math.floor(Date.now() / 1000)
    try {
      channel.publish(exchange, routingKey, body, properties, done)
    } catch (error) {
      done(error instanceof Error ? error : new Error('publish failed'))
    }
  }

  async #open(connection: ChannelModel): Promise<void> {
    try {
      const channel = await openConfirmChannel(connection, this.#options.log)
      if (!this.#isPresent(connection)) return void channel.close().catch(() => {})
      channel.on('return', ({ properties }) => {
        if (typeof properties.messageId === 'string') this.#returned.add(properties.messageId)
      })
      channel.once('close', () => {
        if (this.#channel === channel) this.#channel = undefined
        this.#returned.clear()
        this.#reopen(connection)
      })
      this.#startWriteBatch = createWriteBatch(connection)
      this.#channel = channel
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      this.#options.log.warn({ reason }, 'publish channel not opened: trying again')
      this.#reopen(connection)
    }
  }

  #reopen(connection: ChannelModel): void {
    if (!this.#isPresent(connection)) return
    clearTimeout(this.#reopening)
    this.#reopening = setTimeout(async () => {
      if (!this.#isPresent(connection)) return
      // An exchange that somebody deleted would close each new channel as well. What fails shows when it is used.
      await this.#options.broker.declare().catch(() => {})
      void this.#open(connection)
    }, REOPEN_MS)
  }

  /** A queue that is published to and not consumed is declared by nobody else once somebody has deleted it. */
  #declareAgain(): void {
    this.#declaring ??= this.#options.broker
      .declare()
      .catch(() => {})
      .finally(() => {
        this.#declaring = undefined
      })
  }

  #isPresent(connection: ChannelModel): boolean {
    return !this.#closed && this.#connection === connection
  }
}

/**
 * Makes one write of all that is published within a turn of the event loop: amqplib writes each message to the
 * socket by itself, and those system calls were a quarter of what a message costs. Call it before a publish.
 */
function createWriteBatch(connection: ChannelModel): () => void {
  // The types leave the socket out.
  const { stream } = (connection as unknown as { connection: { stream: Writable } }).connection
  let isCorked = false
  const release = () => {
    isCorked = false
    stream.uncork()
  }
  return () => {
    if (isCorked) return
    isCorked = true
    stream.cork()
    // amqplib hands messages on in an immediate, which it asks for a tick after the publish.
    process.nextTick(() => process.nextTick(() => setImmediate(release)))
  }
}

function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('unavailable', { detail, cause })
}
