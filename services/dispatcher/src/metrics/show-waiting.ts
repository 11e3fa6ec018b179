import { Gauge, type Registry } from 'prom-client'
import { WAITING, type WaitingCounts } from '../message/waiting-for.ts'

/** Counted at most this often, whoever reads the metrics. */
const COUNTED_FOR_MS = 5_000

/** Shows what the open messages of this instance's partitions wait for: each partition is counted by its holder. */
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
