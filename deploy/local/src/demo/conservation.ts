import type { Posted } from './post-threads.ts'
import type { Arrival } from './watch-simulator.ts'

/** What became of the messages, each counted once by thread and sequence. */
export interface Conservation {
  posted: number
  answered: number
  /** Sends that arrived, repeated ones included. */
  arrived: number
  once: number
  doubled: number
  missing: number
  threadsOutOfOrder: number
}

/** Counts what was posted against what arrived; `arrivals` in the order of arrival. */
export function conserve(posted: readonly Posted[], arrivals: readonly Arrival[]): Conservation {
  const counts = new Map<string, number>()
  for (const arrival of arrivals) counts.set(keyOf(arrival), (counts.get(keyOf(arrival)) ?? 0) + 1)
  const times = posted.map((message) => counts.get(keyOf(message)) ?? 0)
  return {
    posted: posted.length,
    answered: posted.filter(({ answeredAt }) => answeredAt !== undefined).length,
    arrived: arrivals.length,
    once: times.filter((count) => count === 1).length,
    doubled: times.filter((count) => count > 1).length,
    missing: times.filter((count) => count === 0).length,
    threadsOutOfOrder: threadsOutOfOrder(arrivals),
  }
}

/** Whether nothing was lost, doubled or out of order, and every post was answered. */
export function isConserved(conservation: Conservation, planned: number): boolean {
  const { answered, once, arrived, threadsOutOfOrder } = conservation
  return answered === planned && once === planned && arrived === planned && threadsOutOfOrder === 0
}

/** Counts the threads in which a message arrived for the first time after a later one. */
function threadsOutOfOrder(arrivals: readonly Arrival[]): number {
  const highest = new Map<number, number>()
  const seen = new Set<string>()
  const wrong = new Set<number>()
  for (const arrival of arrivals) {
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
export function latencies(posted: readonly Posted[], arrivals: readonly Arrival[]) {
  const firstArrival = new Map<string, number>()
  for (const arrival of arrivals) {
    if (!firstArrival.has(keyOf(arrival))) firstArrival.set(keyOf(arrival), arrival.at)
  }
  const since = (from: number, to: number | undefined) => (to === undefined ? [] : [Math.max(0, to - from)])
  return {
    answer: posted.flatMap(({ postedAt, answeredAt }) => since(postedAt, answeredAt)),
    arrival: posted.flatMap((message) => since(message.postedAt, firstArrival.get(keyOf(message)))),
  }
}

/** The nearest-rank percentile (`share` between 0 and 1); undefined for no values. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}
