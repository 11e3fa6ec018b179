/** Names of the events that are counted, each in the minute in which it happened. */
export const TRAFFIC_COUNTS = [
  'accepted',
  'sent',
  'delivered',
  'read',
  'done',
  'failed',
  'dead',
  'unrouted',
] as const
type TrafficCount = (typeof TRAFFIC_COUNTS)[number]
export type TrafficCounts = Record<TrafficCount, number>

export type TrafficSpan = 'minute' | 'hour'
export const SPAN_MS: Record<TrafficSpan, number> = { minute: 60_000, hour: 60 * 60_000 }

/** Sends that have left from one number for one channel. */
export interface NumberSends {
  number: string
  /** Its external id. */
  channel: string
  sends: number
  /** How many a second the number may make; earlier versions did not store it. */
  perSecond?: number
}

/** The counts of one instance for a workspace's messages in a minute or an hour. */
export interface TrafficRecord {
  /** The instance, and a number of its own: an instance may have several of one minute. */
  _id: string
  workspace: number
  span: TrafficSpan
  /** When it begins. */
  at: Date
  counts: TrafficCounts
  /** How long messages took from accepted to sent: how many are in each bucket of {@link bucketOf}. */
  latency: Record<string, number>
  /** Of minutes only; at most 200 numbers. */
  numbers: NumberSends[]
  expiresAt: Date
}

export const noCounts = (): TrafficCounts =>
  Object.fromEntries(TRAFFIC_COUNTS.map((name) => [name, 0])) as TrafficCounts

/** Each bucket ends a tenth later than the one before, so that a percentile is off by a twentieth at most. */
const GROWTH = Math.log(1.1)

/** The bucket of a latency in milliseconds. */
export const bucketOf = (ms: number): number => Math.max(0, Math.ceil(Math.log(Math.max(ms, 1)) / GROWTH))

/** The latency (ms) that a share of the messages stays within; undefined where there are none. */
export function percentile(latency: Record<string, number>, share: number): number | undefined {
  const buckets = Object.entries(latency).map(([bucket, count]) => [Number(bucket), count] as const)
  const total = buckets.reduce((sum, [, count]) => sum + count, 0)
  let seen = 0
  for (const [bucket, count] of buckets.sort(([one], [other]) => one - other)) {
    seen += count
    if (seen >= total * share) return Math.round(Math.exp((bucket - 0.5) * GROWTH))
  }
  return undefined
}
