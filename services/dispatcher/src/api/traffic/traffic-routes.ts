import type { Authorizer } from '@parley/shared/authorizer'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { usualProvider } from '@parley/shared/providers/registry'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { numberInterval } from '../../channels/send-rate-limit/send-rate-limit.ts'
import type { Collections } from '../../store/collections.ts'
import {
  type NumberSends,
  noCounts,
  percentile,
  SPAN_MS,
  TRAFFIC_COUNTS,
  type TrafficCounts,
  type TrafficRecord,
  type TrafficSpan,
} from '../../store/traffic-records.ts'

const channelsOf = (uses: NumberSends[]): string[] => [...new Set(uses.map(({ channel }) => channel))].sort()

const sendsOf = (uses: NumberSends[] = []): number => uses.reduce((sum, { sends }) => sum + sends, 0)

const QUERY_MS = 2_000
/** Records of one question: an hour has one a minute from each instance that was busy. */
const MAX_RECORDS = 10_000

/** The length of each period that can be asked for, and the unit by which messages are counted in it. */
const LAST = {
  hour: { span: 'minute', periods: 60 },
  day: { span: 'hour', periods: 24 },
  week: { span: 'hour', periods: 168 },
} as const satisfies Record<string, { span: TrafficSpan; periods: number }>

/** Where it is not stored. */
const USUAL_RATE = usualProvider().outbound.rates?.perSecond ?? 1
const sendsAMinute = (perSecond = USUAL_RATE): number =>
  Math.floor(SPAN_MS.minute / numberInterval({ perSecond }))

const beginOf = (span: TrafficSpan, at: number): number => Math.floor(at / SPAN_MS[span]) * SPAN_MS[span]

function read(
  { traffic }: Pick<Collections, 'traffic'>,
  { workspace, span, from }: { workspace: number; span: TrafficSpan; from: number },
) {
  return traffic
    .find({ workspace, span, at: { $gte: new Date(from) } }, { maxTimeMS: QUERY_MS })
    .sort({ at: -1 })
    .limit(MAX_RECORDS)
    .toArray()
}

const count = z.number().int()
const counts = {
  accepted: count.describe('Came in'),
  sent: count.describe('All of their sends left'),
  delivered: count,
  read: count,
  done: count.describe('Ended without a send'),
  failed: count.describe('The provider took them, and said later that they failed'),
  dead: count.describe('Given up'),
  unrouted: count.describe('No channel takes them'),
}
const latency = z
  .object({ p50: count, p99: count })
  .nullable()
  .describe(
    'From accepted to sent, in milliseconds, off by a twentieth at most; null where nothing was sent. What was run again does not count.',
  )
const period = z
  .object({ at: z.iso.datetime().describe('When it begins'), ...counts, latency })
  .meta({ id: 'TrafficPeriod', description: 'What happened in a minute or in an hour' })

const none = Object.fromEntries(TRAFFIC_COUNTS.map((name) => [name, 0]))
const example = { ...none, accepted: 3, sent: 3, delivered: 2, latency: { p50: 84, p99: 210 } }

export interface Counted {
  collections: Pick<Collections, 'traffic'>
  /** How many accepted messages of a workspace are nowhere. */
  countLost(workspace: number): Promise<number>
  authorizer: Authorizer
}

/** It reads what was counted before, so it costs the same with any number of messages. */
export const readTraffic = route({
  method: 'GET',
  path: '/rest/messages/traffic',
  access: 'read',
  id: 'readTraffic',
  tag: 'messages',
  summary: 'What came in, left and arrived, by the minute or by the hour',
  description:
    'Each message counts in the period in which it got into the state, so one that came in before and is delivered now counts as delivered now. Some seconds behind; of an instance that is killed the last seconds are missing. `GET /rest/messages/conservation` is the count that comes out even. Takes a role that reads all messages.',
  query: z.object({
    last: z
      .enum(['hour', 'day', 'week'])
      .default('hour')
      .describe('The last hour by the minute, or the last day or week by the hour'),
  }),
  response: {
    schema: z
      .object({
        from: z.iso.datetime().describe('When the first period begins'),
        by: z.enum(['minute', 'hour']),
        ...counts,
        latency,
        periods: z.array(period).describe('Those in which something happened, the oldest first'),
        numbers: z
          .array(
            z.object({
              number: z.string().describe('The number that messages left from, by the provider’s id'),
              channels: z.array(z.string()).describe('The external ids of the channels that have it'),
              sends: count.describe('In the last full minute'),
              busiest: count.describe('The most in a minute of the last hour'),
              limit: count.describe('How many may leave in a minute'),
            }),
          )
          .describe('How much of its rate each number has used, the busiest first'),
        difference: count.describe(
          'Accepted messages that are neither in the store nor rejected, and not on their way either; 1,000 at most are counted; anything but 0 is a fault',
        ),
      })
      .meta({ id: 'Traffic' }),
    example: {
      from: '2026-11-20T10:37:00.000Z',
      by: 'minute',
      ...example,
      periods: [{ at: '2026-11-20T11:36:00.000Z', ...example }],
      numbers: [
        {
          number: '106540352242922',
          channels: ['support-line'],
          sends: 3,
          busiest: 8,
          limit: sendsAMinute(),
        },
      ],
      difference: 0,
    },
  },
  handle:
    ({ collections, countLost, authorizer }: Counted) =>
    async (_req, res, asked) => {
      const caller = callerOf(res)
      const decision = await authorizer.require(caller, 'messages', 'read')
      // Counts can't be limited to the messages that a rule lets the caller read.
      if (decision.kind !== 'all')
        throw new Problem('forbidden', { detail: 'Counting takes a role that reads all messages.' })
      const { span, periods } = LAST[asked.query().last]
      const workspace = caller.workspace._id
      const now = Date.now()
      const from = beginOf(span, now) - (periods - 1) * SPAN_MS[span]
      const lastHour = { workspace, span: 'minute', from: now - SPAN_MS.hour } as const
      const [records, minutes, difference] = await Promise.all([
        read(collections, { workspace, span, from }),
        read(collections, lastHour),
        countLost(workspace),
      ])
      res.set('cache-control', 'no-store').json({
        from: new Date(from),
        by: span,
        ...addUpTraffic(records),
        numbers: usesOfNumbers(minutes, beginOf('minute', now) - SPAN_MS.minute),
        difference,
      })
    },
})

/** Counts, and how long messages took from accepted to sent (ms); null where none was sent. */
type TrafficSum = TrafficCounts & { latency: { p50: number; p99: number } | null }

/** The sum of what all instances have counted: in all, and of each minute or hour, the oldest first. */
function addUpTraffic(records: TrafficRecord[]): TrafficSum & { periods: (TrafficSum & { at: Date })[] } {
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
function usesOfNumbers(minutes: TrafficRecord[], last: number): NumberUse[] {
  const uses = minutes.flatMap(({ at, numbers }) => numbers.map((one) => ({ ...one, at: at.getTime() })))
  return [...Map.groupBy(uses, ({ number }) => number)]
    .map(([number, ofNumber]) => {
      const byMinute = Map.groupBy(ofNumber, ({ at }) => at)
      const sends = sendsOf(byMinute.get(last))
      const busiest = Math.max(...[...byMinute.values()].map(sendsOf))
      const limit = sendsAMinute(ofNumber.toSorted((one, other) => other.at - one.at)[0]?.perSecond)
      return { number, channels: channelsOf(ofNumber), sends, busiest, limit }
    })
    .sort((one, other) => other.busiest - one.busiest)
}
