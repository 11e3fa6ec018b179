import {
  connectBroker,
  declareOn,
  declareTopology,
  MESSAGES_EXCHANGE,
  openConfirmChannel,
} from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import { Problem } from '@parley/shared/problem'
import type { Tracing } from '@parley/shared/tracing'
import type { ConfirmChannel } from 'amqplib'
import type { Registry } from 'prom-client'
import { createWriteBatch } from './batch-writes.ts'
import { createInFlight, type Waiting } from './in-flight.ts'
import type { Publication } from './publication.ts'
import { createPublishObserver } from './publish-observer.ts'

const MAX_IN_FLIGHT = 5_000

export interface Publisher {
  /**
   * Resolves when the broker has confirmed, so that the message is safe. Rejects with `unavailable` when the
   * broker is away, refuses, is blocked, has not confirmed by `deadline` (on the clock of `performance.now`; up to
   * 50 ms later), or 5,000 are in flight: then it is not known whether the message got there. Messages given in
   * order are published in order.
   */
  publish(publication: Publication, deadline: number): Promise<void>
  isUp(): Promise<boolean>
  /** Waits for the confirms under way and disconnects. */
  close(): Promise<void>
}

/** A confirmed publisher to exchange `messages`, on one channel that is made anew after every loss. */
export async function createPublisher(options: {
  url: string
  log: Log
  registry: Registry
  tracing: Tracing
}): Promise<Publisher> {
  const { url, log, registry, tracing } = options
  const inFlight = createInFlight()
  const observer = createPublishObserver({
    registry,
    tracing,
    exchange: MESSAGES_EXCHANGE,
    inFlight: inFlight.count,
  })
  const closing = new AbortController()
  let channel: ConfirmChannel | undefined
  let holdWrites = () => {}
  let blocked = false
  const connection = await connectBroker({
    url,
    log,
    setup: async (model) => {
      await declareOn({ connection: model, declare: declareTopology, log, signal: closing.signal })
      const opened = await openConfirmChannel(model, log)
      blocked = false
      holdWrites = createWriteBatch(model)
      channel = opened
      opened.once('close', () => {
        if (channel === opened) channel = undefined
        // A channel closed by the broker alone would leave a live connection that publishes nothing.
        model.close().catch(() => {})
      })
    },
  })
  connection.on('blocked', (reason: string) => {
    blocked = true
    log.error({ reason }, 'broker takes no messages')
  })
  connection.on('unblocked', () => {
    blocked = false
  })
  return {
    publish(publication, deadline) {
      const open = channel
      if (open === undefined || blocked) return Promise.reject(unavailable('The message broker is away.'))
      if (inFlight.count() >= MAX_IN_FLIGHT)
        return Promise.reject(unavailable('Too many messages are in flight.'))
      holdWrites()
      const { headers, ended } = observer.started(publication)
      return new Promise((resolve, reject) => {
        const settle = (problem?: Problem) => {
          if (!inFlight.end(waiting)) return
          ended(problem === undefined ? 'confirmed' : 'unavailable')
          if (problem) reject(problem)
          else resolve()
        }
        const waiting: Waiting = { deadline, late: () => settle(unavailable('The message broker is slow.')) }
        inFlight.add(waiting)
        send(publication, { channel: open, headers, settle })
      })
    },
    isUp: async () => channel !== undefined && !blocked,
    async close() {
      closing.abort()
      await inFlight.drained()
      await connection.close()
    },
  }
}

// amqplib makes the headers the prototype of an object, which costs more for a new one than all the rest of a publish.
const sent = {}

function send(
  publication: Publication,
  options: {
    channel: ConfirmChannel
    headers: Publication['headers']
    settle(problem?: Problem): void
  },
): void {
  const { routingKey, messageId, type, body } = publication
  const { channel, headers, settle } = options
  const done = (cause?: Error | null) =>
    settle(cause ? unavailable('The message broker did not take it.', cause) : undefined)
  const properties = {
    persistent: true,
    messageId,
    type,
    contentType: 'application/json',
    timestamp: Math.floor(Date.now() / 1000),
    // Every publication has the same keys, so nothing of the one before is left in it.
    headers: Object.assign(sent, headers),
  }
  try {
    channel.publish(MESSAGES_EXCHANGE, routingKey, body, properties, done)
  } catch (error) {
    done(error instanceof Error ? error : new Error('publish failed'))
  }
}

function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('unavailable', { detail, cause })
}
