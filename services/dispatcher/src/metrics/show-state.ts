import type { Broker } from '@parley/shared/messaging/connection'
import { type Layout, partitionQueues } from '@parley/shared/messaging/layout'
import { FIXED_QUEUES } from '@parley/shared/messaging/topology'
import { withTimeout } from '@parley/shared/with-timeout'
import { Gauge, type Registry } from 'prom-client'
import { WAITING, type WaitingCounts } from '../message/message-record.ts'

const BROKER_MS = 2_000

/** The state that the metrics read. */
interface Shown {
  broker: Pick<Broker, 'withChannel'>
  partitionsLeased(): number
  layout(): Promise<Layout>
  /** Of each queue that this instance works, when what it has in hand was published, in milliseconds since the epoch. */
  oldest(): Map<string, number | undefined>
  /** Returns the latest result of the audit; undefined before the first audit. */
  difference(): Promise<{ difference: number } | undefined>
  /** For how long what is accepted has not been audited; undefined before the first audit. */
  auditLagSeconds(): Promise<number | undefined>
}

/**
 * Shows queues, partitions and the audit's count. What can't be asked at the moment is not shown, but for how many
 * partitions there are: an alert compares with it those that are held.
 */
export function showState(registry: Registry, shown: Shown): void {
  const registers = [registry]
  let partitions: number | undefined
  new Gauge({
    name: 'parley_queue_messages',
    help: 'Messages that are ready in a queue',
    labelNames: ['queue'],
    registers,
    async collect() {
      this.reset()
      const depths = await depthsOf(shown).catch(() => [])
      for (const [queue, messages] of depths) this.set({ queue }, messages)
    },
  })
  new Gauge({
    name: 'parley_queue_age_seconds',
    help: 'How long the oldest message has waited in the queues that this instance works',
    labelNames: ['queue'],
    registers,
    collect() {
      this.reset()
      for (const [queue, at] of shown.oldest())
        this.set({ queue }, at === undefined ? 0 : Math.max(0, Date.now() - at) / 1_000)
    },
  })
  new Gauge({
    name: 'parley_partitions_leased',
    help: 'Partitions whose lease this instance has; each partition counts once over all instances',
    registers,
    collect() {
      this.set(shown.partitionsLeased())
    },
  })
  new Gauge({
    name: 'parley_partitions',
    help: 'How many partitions there are, or were when the store was last reached',
    registers,
    async collect() {
      const layout = await shown.layout().catch(() => undefined)
      partitions = layout?.partitions ?? partitions
      showValue(this, partitions)
    },
  })
  new Gauge({
    name: 'parley_reconciliation_difference',
    help: 'Accepted messages that are neither in the store nor rejected; must be 0',
    registers,
    async collect() {
      const found = await shown.difference().catch(() => undefined)
      showValue(this, found?.difference)
    },
  })
  new Gauge({
    name: 'parley_audit_lag_seconds',
    help: 'For how long what is accepted has not been read from the log stream by the auditor, in whatever instance that runs',
    registers,
    async collect() {
      showValue(this, await shown.auditLagSeconds().catch(() => undefined))
    },
  })
}

async function depthsOf({
  broker,
  layout,
}: Pick<Shown, 'broker' | 'layout'>): Promise<[queue: string, messages: number][]> {
  const queues = partitionQueues(await layout())
  const asked = broker.withChannel((channel) =>
    Promise.all(
      [...queues, ...FIXED_QUEUES].map(
        async (queue): Promise<[string, number]> => [queue, (await channel.checkQueue(queue)).messageCount],
      ),
    ),
  )
  return withTimeout(BROKER_MS, asked)
}

/** Counted at most this often, whoever reads the metrics. */
const COUNTED_FOR_MS = 5_000

/** Shows what the open messages of this instance's partitions wait for: each partition is counted by the instance that has its lease. */
export function showWaiting(registry: Registry, count: () => Promise<WaitingCounts[]>): void {
  let counted: Promise<WaitingCounts> | undefined
  let countedAt = Number.NEGATIVE_INFINITY
  const latest = (): Promise<WaitingCounts> => {
    const now = performance.now()
    if (counted !== undefined && now - countedAt < COUNTED_FOR_MS) return counted
    countedAt = now
    counted = count().then(summed)
    return counted
  }
  const registers = [registry]
  new Gauge({
    name: 'parley_messages_waiting',
    help: 'Open messages of the partitions that this instance works, by what they wait for; at most 10,000 of a partition are counted',
    labelNames: ['for'],
    registers,
    async collect() {
      const counts = await latest()
      for (const reason of WAITING) this.set({ for: reason }, counts.get(reason)?.messages ?? 0)
    },
  })
  new Gauge({
    name: 'parley_oldest_waiting_seconds',
    help: 'How long ago the oldest of the waiting messages came, by what it waits for',
    labelNames: ['for'],
    registers,
    async collect() {
      const counts = await latest()
      for (const reason of WAITING) {
        const at = counts.get(reason)?.oldestAt
        this.set({ for: reason }, at === undefined ? 0 : Math.max(0, Date.now() - at) / 1_000)
      }
    },
  })
}

/** Shows how far outgoing events are behind. What can't be counted at the moment is not shown. */
export function showEvents(
  registry: Registry,
  shown: { waiting(): Promise<number>; relayLagSeconds(): number; wordsLagSeconds(): number },
): void {
  const registers = [registry]
  new Gauge({
    name: 'parley_event_deliveries_waiting',
    help: 'Deliveries of events of the subscriptions that this instance works which are not done; at most 10,000 that were not tried and 10,000 to be tried again are counted',
    registers,
    async collect() {
      showValue(this, await shown.waiting().catch(() => undefined))
    },
  })
  new Gauge({
    name: 'parley_event_relay_lag_seconds',
    help: 'Age of the oldest write to a message or thread whose events have no deliveries yet, in the instance that makes them',
    registers,
    collect() {
      this.set(shown.relayLagSeconds())
    },
  })
  new Gauge({
    name: 'parley_words_lag_seconds',
    help: 'Age of the oldest write to a message that search does not know yet, in the instance that follows them',
    registers,
    collect() {
      this.set(shown.wordsLagSeconds())
    },
  })
}

/** Shows nothing for undefined: a gauge without labels that is reset shows 0. */
function showValue(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove()
  else gauge.set(value)
}

function summed(all: WaitingCounts[]): WaitingCounts {
  const sum: WaitingCounts = new Map()
  for (const [reason, { messages, oldestAt }] of all.flatMap((counts) => [...counts])) {
    const before = sum.get(reason) ?? { messages: 0, oldestAt }
    sum.set(reason, {
      messages: before.messages + messages,
      oldestAt: Math.min(before.oldestAt, oldestAt),
    })
  }
  return sum
}
