import type { Log } from '@parley/shared/log'
import { parseTraceparent } from '@parley/shared/tracing'
import type { MessageRecord, Progress } from '../message/message-record.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { observeArrival } from '../metrics/observe-arrival.ts'

/** Reports that a message has reached its end, by one wide line and the metrics. */
export function reportEnd(
  {
    log,
    metrics,
    now,
  }: { log: Log; metrics: Pick<Metrics, 'settled' | 'sent' | 'delivered'>; now: () => number },
  record: MessageRecord,
  progress: Progress,
): void {
  metrics.settled(progress.state, progress.fault)
  observeArrival(metrics, record, { from: 'sending', to: progress.state, at: now() })
  log.info(messageLine(record, progress, now()), 'message')
}

/** The thread may be a phone number, so it is not in it. */
function messageLine(record: MessageRecord, progress: Progress, now: number): object {
  const { _id, workspace, channel, partition, receivedAt, requestId, traceparent } = record
  const traceId = parseTraceparent(traceparent)?.traceId
  const { state, reason, fault, sends, attempts } = progress
  return {
    ...{ messageId: _id, workspace, channel, partition, requestId, traceId, state, reason, fault },
    ...{ sends: sends.length, attempts: attempts.length, ms: now - receivedAt.getTime() },
  }
}
