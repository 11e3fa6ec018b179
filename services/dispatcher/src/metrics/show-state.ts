import type { Broker } from '@parley/shared/messaging/connection'
import {
  DEAD_LETTER_QUEUE,
  PARTITIONS,
  partitionQueue,
  STATUS_QUEUES,
  TASKS_QUEUE,
} from '@parley/shared/messaging/topology'
import { withTimeout } from '@parley/shared/with-timeout'
import { Gauge, type Registry } from 'prom-client'

const QUEUES = [
  ...Array.from({ length: PARTITIONS }, (_, partition) => partitionQueue(partition)),
  ...[...STATUS_QUEUES, TASKS_QUEUE, DEAD_LETTER_QUEUE],
]
const BROKER_MS = 2_000

/** What the metrics look at when they are read. */
interface Shown {
  broker: Pick<Broker, 'withChannel'>
  partitionsHeld(): number
  /** Of each queue that this instance works, when what it has in hand was published, in milliseconds since the epoch. */
  oldest(): Map<string, number | undefined>
  /** What the audit last found; undefined before the first audit. */
  difference(): Promise<{ difference: number } | undefined>
}

/** Shows queues, partitions and the audit's count. What can't be asked at the moment is not shown. */
export function showState(registry: Registry, shown: Shown): void {
  const registers = [registry]
  new Gauge({
    name: 'parley_queue_messages',
    help: 'Messages that are ready in a queue',
    labelNames: ['queue'],
    registers,
    async collect() {
      this.reset()
      const depths = await depthsOf(shown.broker).catch(() => [])
      for (const [queue, messages] of depths) this.set({ queue }, messages)
    },
  })
  new Gauge({
    name: 'parley_queue_age_seconds',
    help: 'How long the oldest message has waited in the queues that this copy works',
    labelNames: ['queue'],
    registers,
    collect() {
      this.reset()
      for (const [queue, at] of shown.oldest())
        this.set({ queue }, at === undefined ? 0 : Math.max(0, Date.now() - at) / 1_000)
    },
  })
  new Gauge({
    name: 'parley_partitions_held',
    help: 'Partitions whose lease this copy holds; 8 over all copies',
    registers,
    collect() {
      this.set(shown.partitionsHeld())
    },
  })
  new Gauge({
    name: 'parley_conservation_difference',
    help: 'Accepted messages that are neither in the store nor rejected; must be 0',
    registers,
    async collect() {
      const found = await shown.difference().catch(() => undefined)
      if (found === undefined) this.reset()
      else this.set(found.difference)
    },
  })
}

function depthsOf(broker: Shown['broker']): Promise<[queue: string, messages: number][]> {
  const asked = broker.withChannel((channel) =>
    Promise.all(
      QUEUES.map(
        async (queue): Promise<[string, number]> => [queue, (await channel.checkQueue(queue)).messageCount],
      ),
    ),
  )
  return withTimeout(BROKER_MS, asked)
}
