import { constants, setPriority } from 'node:os'
import { isReconciled, type Reconciliation, reconcile } from '@parley/local/demo/reconciliation'
import { readTroubles } from '@parley/local/simulator/client'
import { waitUntil } from '@parley/local/wait-until'
import { connectNumber, phoneNumberIdOf, planThreads, postAll, spread } from './lines.ts'
import type { OwnSystem } from './own-system.ts'
import { createSimulatorLog, type SimulatorArrival } from './received-messages.ts'
import { registerWorkspace } from './workspace.ts'

const NUMBER = 1
/** What Meta allows a number a second. */
export const PER_SECOND = 80
const PAIR_BURST = 45
const PAIR_INTERVAL_MS = 6_000
/** Most people get less than the burst; a few get more, and wait. */
const PER_PERSON = 5
const EAGER_PEOPLE = 10
const PER_EAGER_PERSON = 60
const IN_FLIGHT = 48
const ARRIVED_MS = 600_000
const REQUIRED_SHARE = 0.9
const SLICE_MS = 5_000

export interface SendRateRun {
  reconciliation: Reconciliation
  /** The most sends that the simulator took in any one second, wherever it begins. */
  busiestSecond: number
  /** How many sends came before the pair's next was due. */
  pairsTooFast: number
  /** What the simulator refused, by code. */
  refused: Record<string, number>
  /** How many messages waited for the number when all were in. */
  waiting: number
  /** Sends a second from then on, until only people are left who wait for their own limit. */
  rate: number
  passed: boolean
}

/** Queues messages of many people for one number, and measures how the instances together use its rate. */
export async function runSendRate(options: {
  own: OwnSystem
  messages: number
  say(line: string): void
}): Promise<SendRateRun> {
  const { own, messages, say } = options
  const { gatewayUrl, simulatorUrl } = own.system
  prefer(own.system.processes.simulator?.pid)
  const workspace = await registerWorkspace(gatewayUrl, 'send-rate')
  await connectNumber({ workspace, simulatorUrl, id: NUMBER })
  const log = createSimulatorLog(simulatorUrl)
  const posted = await postAll(workspace, { threads: planLoad(messages), inFlight: IN_FLIGHT })
  await log.read()
  const allIn = Date.now()
  const waiting = messages - log.received.length
  say(`${messages} messages are in; ${waiting} of them wait for the number`)
  const arrived = async () => {
    await log.read()
    return log.received.length >= messages
  }
  await waitUntil(arrived, { timeoutMs: ARRIVED_MS, intervalMs: 500 })
  say(`Sends in each ${SLICE_MS / 1_000} s: ${slices(log.received).join(' ')}`)
  const { refused } = await readTroubles({ simulatorUrl, phoneNumberId: phoneNumberIdOf(NUMBER) })
  const reconciliation = reconcile(posted, log.received)
  const figures = {
    busiestSecond: busiestSecond(log.received),
    pairsTooFast: pairsTooFast(log.received),
    rate: rateOf(log.received, allIn),
  }
  return {
    reconciliation,
    refused,
    waiting,
    ...figures,
    passed:
      isReconciled(reconciliation, messages) &&
      figures.busiestSecond <= PER_SECOND &&
      figures.pairsTooFast === 0 &&
      Object.keys(refused).length === 0 &&
      figures.rate >= PER_SECOND * REQUIRED_SHARE,
  }
}

/** The simulator stands for a machine of its own: its clock must not stop while others compute, where that can be had. */
function prefer(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_HIGHEST)
  } catch {
    // Only the superuser may; then the count of a second is as exact as the machine is idle.
  }
}

/** The eager people's threads first, so that their waits overlap with the rest. */
function planLoad(messages: number) {
  const eager = Math.min(EAGER_PEOPLE, Math.floor(messages / PER_EAGER_PERSON))
  const others = spread(messages - eager * PER_EAGER_PERSON, PER_PERSON)
  const sizes = [...Array.from({ length: eager }, () => PER_EAGER_PERSON), ...others]
  return planThreads(sizes.map((size) => ({ size, number: NUMBER })))
}

/** The highest count in any window of a second. */
export function busiestSecond(received: ReadonlyArray<{ at: number }>): number {
  const times = received.map(({ at }) => at).sort((a, b) => a - b)
  let [busiest, first] = [0, 0]
  times.forEach((at, last) => {
    while ((times[first] ?? at) <= at - 1_000) first++
    busiest = Math.max(busiest, last - first + 1)
  })
  return busiest
}

/** Sends that a pair's allowance (45 at once, then one each 6 s) did not cover. */
export function pairsTooFast(
  received: ReadonlyArray<Pick<SimulatorArrival, 'at' | 'to' | 'phoneNumberId'>>,
): number {
  const atRest = new Map<string, number>()
  let count = 0
  for (const { at, to, phoneNumberId } of received) {
    const pair = `${phoneNumberId} ${to}`
    const rest = Math.max(atRest.get(pair) ?? 0, at)
    if (rest - at > PAIR_INTERVAL_MS * (PAIR_BURST - 1)) count++
    atRest.set(pair, rest + PAIR_INTERVAL_MS)
  }
  return count
}

function slices(received: ReadonlyArray<{ at: number }>): number[] {
  const first = Math.min(...received.map(({ at }) => at))
  const counts = Map.groupBy(received, ({ at }) => Math.floor((at - first) / SLICE_MS))
  return Array.from({ length: Math.max(...counts.keys()) + 1 }, (_, at) => counts.get(at)?.length ?? 0)
}

/**
 * From `since` on, as long as a second's worth for others than the eager people waits, who are the first threads:
 * with fewer, the few threads that are left decide.
 */
function rateOf(received: ReadonlyArray<{ at: number; thread: number }>, since: number): number {
  const others = received.filter(({ thread }) => thread >= EAGER_PEOPLE).map(({ at }) => at)
  const until = others.sort((a, b) => a - b).at(-PER_SECOND) ?? since
  const seconds = (until - since) / 1_000
  const count = received.filter(({ at }) => at > since && at <= until).length
  return seconds > 0 ? count / seconds : 0
}
