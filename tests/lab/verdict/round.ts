import type { Posted } from '@parley/local/demo/post-threads'
import type { Reconciliation } from '@parley/local/demo/reconciliation'
import type { Arrival } from '@parley/local/demo/watch-simulator'
import type { Read } from '../load/mixed-load.ts'
import type { Holding } from '../system/processes.ts'

/** The service's own count of a workspace's messages. */
export interface RoundCount {
  accepted: number
  inFlight: number
  delivered: number
  read: number
  difference: number
  unaudited: number
}

/** The result of a round. */
export interface RoundOutcome {
  /** Milliseconds from the fault's end until everything worked again; undefined when it did not. */
  recoveredMs: number | undefined
  /** From the end of the load until nothing was under way; undefined when something stayed. */
  settledMs: number | undefined
  reconciliation: Reconciliation
  count: RoundCount | undefined
  queued: number | undefined
  reads: Read[]
  /** By `performance.now()`, when everything was ready again. */
  readyAt: number
  cutsCallers: boolean
  /** Other errors of the round. */
  troubles: string[]
}

/** Returns the promises that a round breaks; none when all is well. */
export function violations(outcome: RoundOutcome): string[] {
  const { recoveredMs, settledMs, reconciliation, count, troubles } = outcome
  const { posted, accepted, once, doubled, arrived, threadsOutOfOrder } = reconciliation
  const wrongReads = outcome.reads.filter((read) => !isRight(read, outcome))
  const said = [
    [posted - accepted, 'messages were not answered with 200 within a minute'],
    [accepted - Math.min(accepted, once + doubled), 'messages were lost'],
    [doubled, 'messages arrived more than once'],
    [threadsOutOfOrder, 'threads were out of order'],
    [doubled === 0 ? arrived - once : 0, 'arrivals were never posted'],
    [count?.difference ?? 0, 'messages are missing from the equation'],
    [count === undefined ? 0 : Math.abs(count.accepted - posted), 'more or less were accepted than posted'],
  ] as const
  return [
    ...troubles,
    ...(posted === 0 ? ['nothing was posted'] : []),
    ...said.filter(([number]) => number !== 0).map(([number, what]) => `${number} ${what}`),
    ...(recoveredMs === undefined ? ['it did not recover'] : []),
    ...(settledMs === undefined ? [`something is stuck: ${JSON.stringify(whatIsLeft(outcome))}`] : []),
    ...[...new Set(wrongReads.map(({ path, outcome: came }) => `GET ${path}: ${came}`))],
  ]
}

/** True if nothing is in flight any more. */
export function isSettled({ reconciliation, count, queued }: Omit<RoundOutcome, 'settledMs'>): boolean {
  if (count === undefined || queued !== 0) return false
  const { accepted, delivered, read, inFlight, unaudited } = count
  const ended = inFlight === 0 && unaudited === 0 && delivered + read === accepted
  return ended && accepted >= reconciliation.accepted && reconciliation.missing === 0
}

function whatIsLeft({ reconciliation: { missing }, count, queued }: RoundOutcome): object {
  return { missing, queued, ...count }
}

/** Away is 502 to 504 with the time to come again; once all is ready, only 200 will do. */
function isRight({ outcome, saysWhen, at }: Read, round: RoundOutcome): boolean {
  if (outcome === 200) return true
  if (at > round.readyAt) return false
  if (typeof outcome === 'string') return round.cutsCallers
  return outcome >= 502 && outcome <= 504 && saysWhen
}

/** From its first post to its arrival, a message that takes longer is late. */
export const LATE_MS = 3_000

/**
 * How long after a fault the last late message arrived, in milliseconds: from then on delivery was whole again. 0 when
 * none was late. Messages that never arrived are left out: they are lost. `struckAt` is in milliseconds since the epoch.
 */
export function untilWhole(options: {
  posted: readonly Posted[]
  received: readonly Arrival[]
  struckAt: number
}): number {
  const { posted, received, struckAt } = options
  const receivedAt = new Map<string, number>()
  for (const { thread, sequence, at } of received.toReversed()) receivedAt.set(`${thread}:${sequence}`, at)
  const late = posted.flatMap(({ thread, sequence, postedAt }) => {
    const at = receivedAt.get(`${thread}:${sequence}`)
    return at !== undefined && at - postedAt > LATE_MS && at > struckAt ? [at - struckAt] : []
  })
  return late.reduce((longest, ms) => Math.max(longest, ms), 0)
}

/** The most that any process has grown by since `before`. */
export function growth(before: Record<string, Holding>, now: Record<string, Holding>): Holding {
  const grown = Object.entries(now).flatMap(([name, { mebibytes, sockets }]) => {
    const was = before[name]
    return was === undefined ? [] : [{ mebibytes: mebibytes - was.mebibytes, sockets: sockets - was.sockets }]
  })
  return {
    mebibytes: Math.max(0, ...grown.map(({ mebibytes }) => mebibytes)),
    sockets: Math.max(0, ...grown.map(({ sockets }) => sockets)),
  }
}

const SOCKETS_MORE = 24
const MEBIBYTES_MORE = 150
// A store's cache and a broker's log fill up to their own bounds.
const CACHES = new Set(['mongodb', 'rabbitmq'])

/** The processes that hold clearly more than before, once they are at rest. */
export function leaks(before: Record<string, Holding>, now: Record<string, Holding>): string[] {
  return Object.entries(now).flatMap(([name, { mebibytes, sockets }]) => {
    const was = before[name]
    if (was === undefined) return []
    const more = (unit: string, from: number, to: number) =>
      `${name} holds ${Math.round(to)} ${unit} after ${Math.round(from)}`
    return [
      ...(sockets > was.sockets + SOCKETS_MORE ? [more('sockets', was.sockets, sockets)] : []),
      ...(!CACHES.has(name) && mebibytes > was.mebibytes + MEBIBYTES_MORE
        ? [more('MiB', was.mebibytes, mebibytes)]
        : []),
    ]
  })
}
