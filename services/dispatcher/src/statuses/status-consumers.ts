import type { Log } from '@parley/shared/log'
import { type Consumer, consumeBatches } from '@parley/shared/messaging/consumer'
import type { ConsumerOptions } from '@parley/shared/messaging/deliveries'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { STATUS_QUEUES } from '@parley/shared/messaging/topology'
import { type StatusOptions, workStatuses } from './work-statuses.ts'

/** Of a queue, not acked yet. With 100 all queues together would pass on 4,000 a second at most, as they are gathered. */
const PREFETCH = 500

/** Makes the consumers of the provider's statuses, by their queues; all apply them together. */
export function statusConsumers(
  options: StatusOptions &
    Pick<ConsumerOptions, 'declare'> & { deadLetters: Pick<Publisher, 'publish'>; log: Log },
): Map<string, Consumer> {
  const { deadLetters, declare, log } = options
  const work = workStatuses(options)
  return new Map(
    STATUS_QUEUES.map((queue) => [
      queue,
      consumeBatches({ queue, prefetch: PREFETCH, work, deadLetters, declare, log }),
    ]),
  )
}
