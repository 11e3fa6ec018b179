import { constants, setPriority } from 'node:os'
import { busiestSecond } from '@parley/local/demo/campaign/account'
import { isReconciled, reconcile } from '@parley/local/demo/reconciliation'
import { readTroubles } from '@parley/local/simulator/client'
import { waitUntil } from '@parley/local/wait-until'
import { connectNumber, phoneNumberIdOf, planThreads, postAll, spread } from '../load/lines.ts'
import { createSimulatorLog } from '../load/received-messages.ts'
import { count, figureRow, reconciliationRows, type ScenarioResult } from '../report/table.ts'
import type { OwnSystem } from '../system/own-system.ts'
import { registerWorkspace } from '../system/workspace.ts'
import { PER_SECOND, pairsTooFast } from '../verdict/arrivals.ts'

const NUMBER = 1
/** Most people get less than the burst; a few get more, and wait. */
const PER_PERSON = 5
const EAGER_PEOPLE = 10
const PER_EAGER_PERSON = 60
const IN_FLIGHT = 48
const ARRIVED_MS = 600_000
const REQUIRED_SHARE = 0.9
const SLICE_MS = 5_000

/** Queues messages of many people for one number, and measures how the instances together use its rate. */
export async function runSendRate(options: {
  own: OwnSystem
  messages: number
  say(line: string): void
}): Promise<ScenarioResult> {
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
  const busiest = busiestSecond(log.received.map(({ at }) => at))
  const tooFast = pairsTooFast(log.received)
  const rate = rateOf(log.received, allIn)
  const passed =
    isReconciled(reconciliation, messages) &&
    busiest <= PER_SECOND &&
    tooFast === 0 &&
    Object.keys(refused).length === 0 &&
    rate >= PER_SECOND * REQUIRED_SHARE
  const table = [
    '',
    'One number, four dispatchers',
    ...reconciliationRows(reconciliation),
    figureRow('  waiting when all were in', count(waiting)),
    figureRow('  most in any second', count(busiest)),
    figureRow('  sends to a person too soon', count(tooFast)),
    figureRow('  refused for the rate (130429)', count(refused['130429'] ?? 0)),
    figureRow('  refused for the pair (131056)', count(refused['131056'] ?? 0)),
    figureRow('  sends a second from then on', rate.toFixed(1)),
    figureRow(`  of the number's ${PER_SECOND} a second`, `${((rate / PER_SECOND) * 100).toFixed(1)}%`),
    '',
    passed ? "The number's rate was not exceeded, and used." : "The number's rate was exceeded, or not used.",
  ].join('\n')
  return { table, passed }
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

function slices(received: ReadonlyArray<{ at: number }>): number[] {
  const first = Math.min(...received.map(({ at }) => at))
  const counts = Map.groupBy(received, ({ at }) => Math.floor((at - first) / SLICE_MS))
  return Array.from({ length: Math.max(...counts.keys()) + 1 }, (_, at) => counts.get(at)?.length ?? 0)
}

/**
 * Sends a second from `since` on, as long as a second's worth for others than the eager people waits, who are the first
 * threads: with fewer, the few threads that are left decide.
 */
function rateOf(received: ReadonlyArray<{ at: number; thread: number }>, since: number): number {
  const others = received.filter(({ thread }) => thread >= EAGER_PEOPLE).map(({ at }) => at)
  const until = others.sort((a, b) => a - b).at(-PER_SECOND) ?? since
  const seconds = (until - since) / 1_000
  const sent = received.filter(({ at }) => at > since && at <= until).length
  return seconds > 0 ? sent / seconds : 0
}
