import {
  type NumberSends,
  noCounts,
  percentile,
  TRAFFIC_COUNTS,
  type TrafficCounts,
  type TrafficRecord,
} from '../../store/traffic-records.ts'

/** Counts, and how long messages took from accepted to sent (ms); null where none was sent. */
type TrafficSum = TrafficCounts & { latency: { p50: number; p99: number } | null }

/** The sum of what all instances have counted: in all, and of each minute or hour, the oldest first. */
export function addUpTraffic(
  records: TrafficRecord[],
): TrafficSum & { periods: (TrafficSum & { at: Date })[] } {
  const periods = [...Map.groupBy(records, ({ at }) => at.getTime())]
    .sort(([one], [other]) => one - other)
    .map(([at, ofPeriod]) => ({ at: new Date(at), ...sumOf(ofPeriod) }))
  return { ...sumOf(records), periods }
}

function sumOf(records: TrafficRecord[]): TrafficSum {
  const sums = noCounts()
  const latency: Record<string, number> = {}
  for (const record of records) {
    for (const name of TRAFFIC_COUNTS) sums[name] += record.counts[name] ?? 0
    for (const [bucket, count] of Object.entries(record.latency))
      latency[bucket] = (latency[bucket] ?? 0) + count
  }
  const [p50, p99] = [percentile(latency, 0.5), percentile(latency, 0.99)]
  return { ...sums, latency: p50 === undefined || p99 === undefined ? null : { p50, p99 } }
}

interface NumberUse {
  number: string
  channels: string[]
  /** In the last full minute. */
  sends: number
  /** The most in a minute. */
  busiest: number
  limit: number
}

/** How many sends left from each number, the busiest first. The last full minute is that which begins at `last`. */
export function usesOfNumbers(
  minutes: TrafficRecord[],
  { last, limit }: { last: number; limit: number },
): NumberUse[] {
  const uses = minutes.flatMap(({ at, numbers }) => numbers.map((one) => ({ ...one, at: at.getTime() })))
  return [...Map.groupBy(uses, ({ number }) => number)]
    .map(([number, ofNumber]) => {
      const byMinute = Map.groupBy(ofNumber, ({ at }) => at)
      const sends = sendsOf(byMinute.get(last))
      const busiest = Math.max(...[...byMinute.values()].map(sendsOf))
      return { number, channels: channelsOf(ofNumber), sends, busiest, limit }
    })
    .sort((one, other) => other.busiest - one.busiest)
}

const channelsOf = (uses: NumberSends[]): string[] => [...new Set(uses.map(({ channel }) => channel))].sort()

const sendsOf = (uses: NumberSends[] = []): number => uses.reduce((sum, { sends }) => sum + sends, 0)
