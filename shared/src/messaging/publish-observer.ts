import type { Options } from 'amqplib'
import { Gauge, Histogram, type Registry } from 'prom-client'
import { type Span, type Tracing, untraced } from '../tracing.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** A message to publish. It is persistent; JSON unless it says otherwise, and dated now. */
export interface Publication extends Options.Publish {
  exchange: string
  routingKey: string
  body: Buffer
  /** True when it must reach a queue. It needs a `messageId`, by which the broker's return of it is recognised. */
  mandatory?: boolean
}

/** Sees each publication leave and come back: a duration in the metrics, and a span. */
export interface PublishObserver {
  /**
   * Returns the headers to publish with, and what to call when it is known how it ended. A `traceparent` (W3C) among
   * the publication's headers is the parent of its span.
   */
  started(publication: Publication): {
    headers: Publication['headers']
    ended(outcome: 'confirmed' | 'unavailable'): void
  }
}

/** Measures and traces what is published to one exchange. */
export function createPublishObserver(options: {
  registry: Registry
  tracing: Tracing
  exchange: string
  inFlight(): number
}): PublishObserver {
  const { registry, tracing, exchange, inFlight } = options
  const durations = new Histogram({
    name: 'messaging_client_operation_duration_seconds',
    help: "From handing a message to the broker to the broker's confirm, or to giving up",
    labelNames: ['messaging_operation_name', 'messaging_destination_name', 'outcome'],
    buckets: SECONDS,
    registers: [registry],
  })
  new Gauge({
    name: 'parley_publishes_in_flight',
    help: 'Messages that wait for their confirm; 503 beyond 5,000',
    registers: [registry],
    collect() {
      this.set(inFlight())
    },
  })
  const isTracing = tracing !== untraced
  const byOutcome = {
    confirmed: durations.labels('send', exchange, 'confirmed'),
    unavailable: durations.labels('send', exchange, 'unavailable'),
  }
  return {
    started(publication) {
      const started = performance.now()
      const span = isTracing ? startSpan(tracing, exchange, publication) : undefined
      const traceparent = span?.traceparent
      return {
        headers: traceparent === undefined ? publication.headers : { ...publication.headers, traceparent },
        ended(outcome) {
          byOutcome[outcome].observe((performance.now() - started) / 1_000)
          span?.end(outcome === 'confirmed' ? {} : { error: outcome })
        },
      }
    },
  }
}

/** Named and described by OpenTelemetry's conventions for RabbitMQ. */
function startSpan(tracing: Tracing, exchange: string, publication: Publication): Span {
  const { routingKey, messageId = '', headers, body } = publication
  const parent: unknown = headers?.traceparent
  return tracing.start(`send ${exchange}:${routingKey}`, {
    kind: 'producer',
    parent: typeof parent === 'string' ? parent : undefined,
    attributes: {
      'messaging.system': 'rabbitmq',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': `${exchange}:${routingKey}`,
      'messaging.rabbitmq.destination.routing_key': routingKey,
      'messaging.message.id': messageId,
      'messaging.message.body.size': body.length,
    },
  })
}
