import { setTimeout as pause } from 'node:timers/promises'
import { latencies, type Reconciliation, reconcile } from '@parley/local/demo/reconciliation'
import { waitUntil } from '@parley/local/wait-until'
import { partitionQueues } from '@parley/shared/messaging/layout'
import { FIXED_QUEUES } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'
import { z } from 'zod'
import { connectLines, type Lines, type LoadResult, startLoad } from '../load/mixed-load.ts'
import type { RpcSink, SimulatorLog } from '../load/received-messages.ts'
import { count, repeatedPosts, tableLine } from '../report/table.ts'
import type { InjectedFault, Surroundings } from '../strike/faults.ts'
import { type Holding, readHoldings } from '../system/processes.ts'
import type { FaultSystem, RoundSystem } from '../system/proxied-system.ts'
import {
  growth,
  isSettled,
  type RoundCount,
  type RoundOutcome,
  untilWhole,
  violations,
} from '../verdict/round.ts'

const WARM_MS = 10_000
const CALM_MS = 1_000
const GOING_MS = 60_000
const SETTLED_MS = 120_000
const CHECK_MS = 250

const counted = z.object({
  accepted: z.int(),
  inFlight: z.int(),
  delivered: z.int(),
  read: z.int(),
  difference: z.int(),
  unaudited: z.int(),
})

/** A column of the table of rounds: its title, its width and what it has of a round. */
export type RoundColumn = readonly [title: string, width: number, cellOf: (round: Round) => string | number]

/** One round as a row, with what it broke below it. */
export const roundLine = (columns: readonly RoundColumn[], round: Round): string =>
  tableLine(
    columns,
    columns.map(([, , cellOf]) => cellOf(round)),
    round.violations,
  )

/** A figure of all rounds together. */
export const sumOf = (rounds: readonly Round[], figure: keyof Reconciliation): string =>
  count(rounds.reduce((sum, { reconciliation }) => sum + reconciliation[figure], 0))

/** The parts that every round uses. */
export interface World<S extends RoundSystem = FaultSystem> {
  system: S
  sink: RpcSink
  log: SimulatorLog
  /** Messages a second. */
  rate: number
  /** Reads a second. */
  readRate: number
  /** How long the load goes on after all works again, in milliseconds; 1,000 when not given. */
  calmMs?: number
  /** How many messages it takes at least; 0 when not given. */
  messages?: number
}

/** A row of the table. */
export interface Round extends Pick<RoundOutcome, 'recoveredMs' | 'settledMs' | 'reconciliation' | 'count'> {
  name: string
  /** Posts that were repeated because no 200 came. */
  repeatedPosts: number
  reads: number
  /** Reads that were answered with 502 to 504, or not at all. */
  failedReads: number
  /** From a message's 200 to its arrival, the longest. */
  slowestMs: number
  /** From the fault until no message was late any more. */
  wholeMs: number
  /** Calls to the RPC endpoint that came again under their id. */
  rpcRepeats: number
  /** The most that a process holds beyond `before`. */
  grown: Holding | undefined
  holdings: Record<string, Holding>
  violations: string[]
}

/** Puts a steady load on a workspace of its own, strikes in the middle of it, and counts when all is quiet again. */
export async function runRound<S extends RoundSystem>(options: {
  world: World<S>
  /** Counted from 0. */
  round: number
  fault: InjectedFault<S>
  /** The resources that the processes held before the first fault. */
  before: Record<string, Holding> | undefined
}): Promise<Round> {
  const { world, round, fault, before } = options
  const { system, sink, rate, readRate } = world
  const { gatewayUrl, simulatorUrl } = system
  const lines = await connectLines({ gatewayUrl, simulatorUrl, callbackUrl: sink.url, round })
  const surroundings = { system, phoneNumberIds: lines.phoneNumberIds }
  const load = startLoad({ lines, rate, readRate })
  const repeatsBefore = sink.repeats()
  const struck = await strike({ fault, surroundings, world, acceptedCount: load.acceptedCount })
  const result = await load.stop()
  const refusals = result.refusal === undefined ? [] : [result.refusal]
  const shared = { ...struck, troubles: [...struck.troubles, ...refusals] }
  const outcome = await settle({ world, lines, result, shared })
  await fault.cleanUp?.(surroundings)
  const holdings = readHoldings(system.pids())
  return {
    name: fault.name,
    ...outcome,
    repeatedPosts: repeatedPosts(result.posted),
    reads: result.reads.length,
    failedReads: result.reads.filter(({ outcome: came }) => came !== 200).length,
    slowestMs: slowest(result, world, lines),
    wholeMs: untilWhole({
      posted: result.posted,
      received: receivedBy(world, lines),
      struckAt: performance.timeOrigin + struck.struckAt,
    }),
    rpcRepeats: sink.repeats() - repeatsBefore,
    grown: before === undefined ? undefined : growth(before, holdings),
    holdings,
    violations: violations(outcome),
  }
}

type Struck = Pick<RoundOutcome, 'recoveredMs' | 'readyAt' | 'troubles' | 'cutsCallers'> & {
  /** By `performance.now()`. */
  struckAt: number
}

/** Strikes once the load is under way, and waits until everything works again and has done so for a moment. */
async function strike<S extends RoundSystem>(options: {
  fault: InjectedFault<S>
  surroundings: Surroundings<S>
  world: World<S>
  /** How many messages were answered with 200. */
  acceptedCount(): number
}): Promise<Struck> {
  const { fault, surroundings, world, acceptedCount } = options
  const { rate, calmMs = CALM_MS, messages = 0 } = world
  const grows = (by: number, timeoutMs: number) => {
    const from = acceptedCount()
    return waitUntil(() => acceptedCount() >= from + by, { timeoutMs, intervalMs: CHECK_MS / 5 })
  }
  await grows(rate, WARM_MS)
  const troubles: string[] = []
  const struckAt = performance.now()
  const recoverFrom = await fault.strike(surroundings).catch((error: unknown) => {
    troubles.push(error instanceof Error ? error.message : String(error))
    return struckAt
  })
  const ready = await surroundings.system.ready()
  const readyAt = performance.now()
  const going = await grows(1, GOING_MS)
  const recoveredMs = ready && going ? performance.now() - recoverFrom : undefined
  await pause(calmMs)
  await grows(messages - acceptedCount(), (2_000 * messages) / rate)
  return { struckAt, recoveredMs, readyAt, troubles, cutsCallers: fault.cutsCallers ?? false }
}

/** Waits until nothing is under way, at most two minutes, and says what it came to. */
async function settle(options: {
  world: World<RoundSystem>
  lines: Lines
  result: LoadResult
  shared: Struck
}): Promise<RoundOutcome> {
  const { world, lines, result, shared } = options
  const began = performance.now()
  const look = async (): Promise<RoundOutcome> => {
    await world.log.read()
    const reconciliation = reconcile(result.posted, receivedBy(world, lines))
    const [found, queued] = await Promise.all([
      lines.workspace.call('GET', '/rest/messages/conservation').then(parseCount, () => undefined),
      countQueued(world.system.amqpUrls).catch(() => undefined),
    ])
    const now = { ...shared, reconciliation, count: found, queued, reads: result.reads }
    const settledMs = isSettled(now) ? performance.now() - began : undefined
    return { ...now, settledMs }
  }
  let outcome = await look()
  const settled = async () => {
    outcome = await look()
    return outcome.settledMs !== undefined
  }
  await waitUntil(settled, { timeoutMs: SETTLED_MS, intervalMs: CHECK_MS })
  return outcome
}

const parseCount = (body: unknown): RoundCount => counted.parse(body)

/** Returns the messages of these lines that arrived, in the order of arrival. */
function receivedBy({ log, sink }: Pick<World, 'log' | 'sink'>, { threads }: Lines) {
  return [...log.received, ...sink.received]
    .filter(({ thread }) => thread >= threads.first && thread < threads.end)
    .sort((a, b) => a.at - b.at)
}

function slowest({ posted }: LoadResult, world: Pick<World, 'log' | 'sink'>, lines: Lines): number {
  const since = posted.map((message) => ({ ...message, postedAt: message.acceptedAt ?? message.postedAt }))
  return Math.max(0, ...latencies(since, receivedBy(world, lines)).arrival)
}

const CONNECT_MS = 5_000
const QUEUES = [
  // As many as a new system gets by default.
  ...partitionQueues({ generation: 1, partitions: 16 }),
  ...FIXED_QUEUES,
]

/** How many messages wait in the queues, and were rejected, as the first of the nodes says that answers. */
async function countQueued([url, ...others]: string[]): Promise<number> {
  if (url === undefined) throw new Error('No node of the broker answers')
  return countAt(url).catch(() => countQueued(others))
}

async function countAt(amqpUrl: string): Promise<number> {
  const connection = await connect(amqpUrl, { timeout: CONNECT_MS })
  connection.on('error', () => undefined)
  try {
    const channel = await connection.createChannel()
    let queued = 0
    for (const queue of QUEUES) queued += (await channel.checkQueue(queue)).messageCount
    return queued
  } finally {
    await connection.close()
  }
}
