import { defined } from '@parley/shared/defined'
import { reportComparison } from '../../lab/report/results.ts'
import { type Figures, mapValues, sum } from '../../lab/system/process-groups.ts'
import { withIdle } from '../end-to-end-tables.ts'
import type { MeasuredLoad } from '../load-process.ts'

/** The results of one turn of a system. */
export interface PeerRun {
  /** Messages a second of the steady load. */
  rate: number
  /** Milliseconds of processor time a second before any load, by process. */
  idle: Figures
  burst: MeasuredLoad
  steady: MeasuredLoad
  /** MiB after the loads, by process. */
  memory: Figures
}

interface Row {
  title: string
  digits: number
  unit: string
  figureOf(run: PeerRun): number
  reach?: { least?: number; most?: number }
}

/** Seconds of processor time for 1,000 messages: as many as milliseconds for one. */
const secondsOfThousand = (micros: Figures) => sum(micros) / 1e3

const rowsOf = (rate: number): Row[] => [
  {
    title: 'messages a second, from the first post until all have arrived',
    ...{ digits: 0, unit: '/s', reach: { least: 1 } },
    figureOf: ({ burst }) => burst.drainedPerSecond,
  },
  {
    title: `accepted at ${rate}/s, p50`,
    ...{ digits: 1, unit: ' ms' },
    figureOf: ({ steady }) => steady.accepted.p50,
  },
  {
    title: `accepted at ${rate}/s, p99`,
    ...{ digits: 1, unit: ' ms' },
    figureOf: ({ steady }) => steady.accepted.p99,
  },
  {
    title: `delivered at ${rate}/s, p50`,
    ...{ digits: 1, unit: ' ms', reach: { most: 0.7 } },
    figureOf: ({ steady }) => steady.p50,
  },
  {
    title: `delivered at ${rate}/s, p99`,
    ...{ digits: 1, unit: ' ms', reach: { most: 0.8 } },
    figureOf: ({ steady }) => steady.p99,
  },
  {
    title: 'processor seconds for 1,000 messages, all at once',
    ...{ digits: 2, unit: ' s' },
    figureOf: ({ burst }) => secondsOfThousand(burst.micros),
  },
  {
    title: `processor seconds for 1,000 messages at ${rate}/s, idle included`,
    ...{ digits: 2, unit: ' s', reach: { most: 1.2 } },
    figureOf: (run) => secondsOfThousand(withIdle(run)),
  },
  {
    title: 'memory after the loads',
    ...{ digits: 0, unit: ' MiB', reach: { most: 2 } },
    figureOf: ({ memory }) => sum(memory),
  },
]

const PROMISES = `
Accepted means: Parley has the confirm of a quorum queue and of a stream for a persistent message, under its idempotency
  key; Outpost the confirm of a quorum queue, and its idempotency key in Redis.
Delivered: Parley delivers a thread's messages one after another, in their sequence, and records each in MongoDB (majority,
  journaled); Outpost delivers up to 100 at a time in no particular sequence, at least once, and records each in PostgreSQL
  (fsync) up to 10 s later by way of a second quorum queue.
Both: one node of each server on the same disk; Redis writes its log each second.`

/** Prints what each system did in each of its turns, what both promise, and where each one's time and memory goes. */
export function printRuns(
  runs: { Parley: PeerRun[]; Outpost: PeerRun[] },
  { messages, rate, seconds }: { messages: number; rate: number; seconds: number },
): void {
  console.log(`${messages} messages as fast as they are accepted, then ${rate} a second for ${seconds} s`)
  console.log(PROMISES)
  console.table(
    rowsOf(rate).map(({ title, digits, unit, figureOf }) => ({
      row: title,
      ...mapValues(runs, (turns) => `${turns.map((run) => figureOf(run).toFixed(digits)).join(', ')}${unit}`),
    })),
  )
  for (const [name, turns] of Object.entries(runs)) {
    for (const { burst, steady } of turns) printCounts(name, { burst, steady })
    const last = turns.at(-1)
    if (last !== undefined) printProcesses(name, last)
  }
}

function printCounts(name: string, loads: Record<'burst' | 'steady', MeasuredLoad>): void {
  for (const [load, { posted, refused, once, doubled, missing, disturbance }] of Object.entries(loads))
    console.log(
      `${name}, ${load}: ${posted} posted, ${refused} refused, ${once} delivered once, ${doubled} more often, ` +
        `${missing} not; ${disturbance.toFixed(2)} processors in use by others`,
    )
}

function printProcesses(name: string, { idle, burst, steady, memory }: PeerRun): void {
  console.log(`\n${name}: processor time of a message beyond idle, idle work and memory by process`)
  console.table(
    mapValues(memory, (mebibytes, process) => ({
      'all at once, µs': Math.round(burst.micros[process] ?? 0),
      'steady, µs': Math.round(steady.micros[process] ?? 0),
      'idle, ms/s': (idle[process] ?? 0).toFixed(1),
      MiB: Math.round(mebibytes),
    })),
  )
}

/** Hands each row to the table of all benchmarks: Parley's figure as a share of Outpost's. */
export function reportRuns(
  runs: { Parley: PeerRun[]; Outpost: PeerRun[] },
  { rate }: { rate: number },
): void {
  for (const { title, digits, unit, figureOf, reach } of rowsOf(rate)) {
    reportComparison({
      ...{ row: `${title}, beside Outpost`, digits, unit, ...defined({ reach }) },
      ...{ ours: runs.Parley.map(figureOf), others: runs.Outpost.map(figureOf) },
    })
  }
}
