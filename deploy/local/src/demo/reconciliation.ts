import type { Posted } from './post-threads.ts'
import type { Arrival } from './watch-simulator.ts'

/** The fates of the messages, each counted once by thread and sequence. */
export interface Reconciliation {
  posted: number
  accepted: number
  /** Sends that arrived, repeated ones included. */
  arrived: number
  once: number
  doubled: number
  missing: number
  threadsOutOfOrder: number
}

/** Counts what was posted against what the simulator received, in the order in which it did. */
export function reconcile(posted: readonly Posted[], received: readonly Arrival[]): Reconciliation {
  const counts = new Map<string, number>()
  for (const arrival of received) counts.set(keyOf(arrival), (counts.get(keyOf(arrival)) ?? 0) + 1)
  const times = posted.map((message) => counts.get(keyOf(message)) ?? 0)
  return {
    posted: posted.length,
    accepted: posted.filter(({ acceptedAt }) => acceptedAt !== undefined).length,
    arrived: received.length,
    once: times.filter((count) => count === 1).length,
    doubled: times.filter((count) => count > 1).length,
    missing: times.filter((count) => count === 0).length,
    threadsOutOfOrder: threadsOutOfOrder(received),
  }
}

/** True when nothing was lost, doubled or out of order, and every post got 200. */
export function isReconciled(reconciliation: Reconciliation, planned: number): boolean {
  const { accepted, once, arrived, threadsOutOfOrder } = reconciliation
  return accepted === planned && once === planned && arrived === planned && threadsOutOfOrder === 0
}

/** Counts the threads in which a message arrived for the first time after a later one. */
function threadsOutOfOrder(received: readonly Arrival[]): number {
  const highest = new Map<number, number>()
  const seen = new Set<string>()
  const wrong = new Set<number>()
  for (const arrival of received) {
    const { thread, sequence } = arrival
    if (seen.has(keyOf(arrival))) continue
    seen.add(keyOf(arrival))
    if (sequence < (highest.get(thread) ?? -1)) wrong.add(thread)
    else highest.set(thread, sequence)
  }
  return wrong.size
}

const keyOf = ({ thread, sequence }: { thread: number; sequence: number }): string => `${thread}:${sequence}`

/** Milliseconds from post to 200, and from post to the first arrival, of the messages that got there. */
export function latencies(posted: readonly Posted[], received: readonly Arrival[]) {
  const firstArrival = new Map<string, number>()
  for (const arrival of received) {
    if (!firstArrival.has(keyOf(arrival))) firstArrival.set(keyOf(arrival), arrival.at)
  }
  const since = (from: number, to: number | undefined) => (to === undefined ? [] : [Math.max(0, to - from)])
  return {
    response: posted.flatMap(({ postedAt, acceptedAt }) => since(postedAt, acceptedAt)),
    arrival: posted.flatMap((message) => since(message.postedAt, firstArrival.get(keyOf(message)))),
  }
}

/** The nearest-rank percentile (`share` between 0 and 1); undefined for no values. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}

/** Counts in the webhook's responses to a provider. */
export const WEBHOOK_COUNTS: readonly string[] = ['accepted', 'repeated', 'kept', 'skipped', 'foreign']

/** How many of the messages and statuses that were posted are in no count of an answer. */
export function uncounted({ posted = 0, ...counts }: Readonly<Record<string, number>>): number {
  return WEBHOOK_COUNTS.reduce((left, name) => left - (counts[name] ?? 0), posted)
}
