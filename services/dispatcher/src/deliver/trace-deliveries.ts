import { partitionQueue } from '@parley/shared/messaging/topology'
import { type Tracing, withTrace } from '@parley/shared/tracing'
import type { DeliverMessage } from './deliver-message.ts'

/**
 * The same runner; each run is a span of the trace that the message came in with, named and described by
 * OpenTelemetry's conventions for RabbitMQ, and what it calls belongs to it.
 */
export function traceDeliveries(run: DeliverMessage, tracing: Tracing): DeliverMessage {
  return (record, leased, calling) => {
    const queue = partitionQueue(record.partition)
    const span = tracing.start(`process ${queue}`, {
      kind: 'consumer',
      parent: record.traceparent,
      attributes: {
        'messaging.system': 'rabbitmq',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': queue,
        'messaging.message.id': record._id,
      },
    })
    return withTrace(span.traceparent, async () => {
      const result = await run(record, leased, calling)
      span.end({ attributes: { 'parley.result': result.kind } })
      return result
    })
  }
}
