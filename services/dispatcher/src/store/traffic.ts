import { every } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import { LRUCache } from 'lru-cache'
import type { MessageRecord, MessageState } from '../message/message-record.ts'
import { ranAgainAt } from '../message/progress.ts'
import type { Collections } from './collections.ts'
import { bucketOf, noCounts, SPAN_MS, type TrafficRecord, type TrafficSpan } from './traffic-records.ts'

const PAUSE_MS = 1_000
const MAX_BATCH = 500
const MAX_WORKSPACES = 10_000
const MAX_UNWRITTEN = 20_000
const MAX_NUMBERS = 200
const WRITE_MS = 5_000
const DAY_MS = 24 * 60 * 60_000
const RETENTION_MS: Record<TrafficSpan, number> = { minute: 2 * SPAN_MS.hour, hour: 8 * DAY_MS }
const SPANS = ['minute', 'hour'] as const

type Timed = Pick<MessageRecord, 'workspace' | 'timeline' | 'receivedAt' | 'acceptedAt'>

/**
 * Counts what happens to messages by minute and by hour. Counting is in memory; what changed is written within a second
 * or two, at most 500 records a second. Of an instance that is killed those seconds are missing: what has to come out
 * even is counted by the reconciliation.
 */
export interface Traffic {
  /** A message was stored for the first time. */
  accepted(record: Pick<MessageRecord, 'workspace'>): void
  /** A message went from one state to another. */
  moved(record: Timed, change: { from: MessageState; to: MessageState; at: number }): void
  /** A send left from a number that has a rate; `number` is the key of that rate, of which there are `perSecond`. */
  left(
    record: Pick<MessageRecord, 'workspace' | 'channel'>,
    rate: { number: string; perSecond: number },
  ): void
  /** Writes what is not written yet, and ends. */
  close(): Promise<void>
}

/** The current minute and hour of a workspace. */
interface Current extends Record<TrafficSpan, TrafficRecord> {
  /** When the minute begins, in milliseconds since the epoch. */
  from: number
}

export function createTraffic(options: {
  collections: Pick<Collections, 'traffic'>
  instance: string
  log: Log
  now?: () => number
}): Traffic {
  const { collections, instance, log, now = Date.now } = options
  const current = new LRUCache<number, Current>({ max: MAX_WORKSPACES })
  const unwritten = new Set<TrafficRecord>()
  let made = 0
  const begin = (workspace: number, span: TrafficSpan, at: number): TrafficRecord => ({
    _id: `${instance} ${made++}`,
    workspace,
    span,
    at: new Date(at),
    counts: noCounts(),
    latency: {},
    numbers: [],
    expiresAt: new Date(at + RETENTION_MS[span]),
  })
  const currentOf = (workspace: number): Current => {
    const time = now()
    let one = current.get(workspace)
    if (one === undefined || time < one.from || time >= one.from + SPAN_MS.minute) {
      const [from, hour] = SPANS.map((span) => time - (time % SPAN_MS[span])) as [number, number]
      const before = one?.hour.at.getTime() === hour ? one.hour : undefined
      one = {
        from,
        minute: begin(workspace, 'minute', from),
        hour: before ?? begin(workspace, 'hour', hour),
      }
      current.set(workspace, one)
    }
    unwritten.add(one.minute)
    unwritten.add(one.hour)
    return one
  }
  let isFailing = false
  const loop = every({
    pauseMs: PAUSE_MS,
    async run() {
      await write(collections.traffic, unwritten)
      isFailing = false
    },
    failed({ message }) {
      if (!isFailing) log.warn({ reason: message }, 'traffic not written; it is tried until it is')
      isFailing = true
    },
  })
  return {
    accepted({ workspace }) {
      const { minute, hour } = currentOf(workspace)
      minute.counts.accepted++
      hour.counts.accepted++
    },
    moved(record, change) {
      const { minute, hour } = currentOf(record.workspace)
      const bucket = isSent(change) ? bucketOfSent(record, change.at) : undefined
      const reached = reachedBy(change)
      for (const { counts, latency } of [minute, hour]) {
        for (const name of reached) counts[name]++
        if (bucket !== undefined) latency[bucket] = (latency[bucket] ?? 0) + 1
      }
    },
    left({ workspace, channel }, { number: numberOfWorkspace, perSecond }) {
      const number = numberOfWorkspace.replace(`${workspace}:`, '')
      const { minute } = currentOf(workspace)
      const found = minute.numbers.find((one) => one.number === number && one.channel === channel)
      if (found !== undefined) found.sends++
      else if (minute.numbers.length < MAX_NUMBERS)
        minute.numbers.push({ number, channel, sends: 1, perSecond })
    },
    async close() {
      await loop.stop()
      try {
        // Nothing is counted any more, so this ends.
        while (unwritten.size > 0) await write(collections.traffic, unwritten)
      } catch (error) {
        log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'last traffic not written')
      }
    },
  }
}

/**
 * Writes records whole, the oldest changes first: the same record written again is the same. What can't be written
 * stays, the latest 20,000.
 */
async function write(traffic: Collections['traffic'], unwritten: Set<TrafficRecord>): Promise<void> {
  const batch = [...unwritten.values().take(MAX_BATCH)]
  if (batch.length === 0) return
  // A record that changes while it is written is written again.
  for (const record of batch) unwritten.delete(record)
  try {
    await traffic.bulkWrite(
      batch.map(({ _id, ...replacement }) => ({
        replaceOne: { filter: { _id }, replacement, upsert: true },
      })),
      { ordered: false, maxTimeMS: WRITE_MS },
    )
  } catch (error) {
    for (const record of batch) unwritten.add(record)
    for (const record of unwritten.values().take(Math.max(0, unwritten.size - MAX_UNWRITTEN)))
      unwritten.delete(record)
    throw error
  }
}

type Change = { from: MessageState; to: MessageState }

const SENT = new Set<MessageState>(['sent', 'delivered', 'read'])
const DELIVERED = new Set<MessageState>(['delivered', 'read'])
const COUNTED_ONCE = ['read', 'done', 'failed', 'dead', 'unrouted'] as const

const enters = (states: ReadonlySet<MessageState>, { from, to }: Change): boolean =>
  states.has(to) && !states.has(from)

const isSent = (change: Change): boolean =>
  enters(SENT, change) || (change.to === 'done' && change.from !== 'done')

type Reached = 'sent' | 'delivered' | (typeof COUNTED_ONCE)[number]

/** Returns the states that a change reaches: delivered implies sent, and read implies delivered, in any order. */
function reachedBy(change: Change): Reached[] {
  const reached: Reached[] = COUNTED_ONCE.filter((state) => change.to === state && change.from !== state)
  if (enters(SENT, change)) reached.push('sent')
  if (enters(DELIVERED, change)) reached.push('delivered')
  return reached
}

/** One that was run again is left out: when that was asked for says nothing about us. */
function bucketOfSent(record: Timed, at: number): number | undefined {
  if (ranAgainAt(record) > 0) return undefined
  return bucketOf(at - (record.acceptedAt ?? record.receivedAt).getTime())
}
