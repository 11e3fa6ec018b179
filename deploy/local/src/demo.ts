import { join } from 'node:path'
import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import cliProgress from 'cli-progress'
import { z } from 'zod'
import { STATE_DIRECTORY } from './checkout.ts'
import { exchangeText, isComplete, resultText } from './demo/assistant/report.ts'
import { type Exchange, runAssistantDemo } from './demo/assistant/run-assistant-demo.ts'
import type { DispatcherCount } from './demo/gateway-client.ts'
import { percentile, type Reconciliation } from './demo/reconciliation.ts'
import { type DemoResult, runDemo } from './demo/run-demo.ts'
import { findRunningSystem } from './demo/running-system.ts'
import { SetupError } from './setup-error.ts'

const LABEL = 34
const FIGURE = 12

const size = z.object({
  MESSAGES: integer({ min: 1, max: 200_000 }).default(1_000).describe('How many messages are sent'),
  THREADS: integer({ min: 1, max: 10_000 }).default(100).describe('Over how many threads'),
})

/** What can be shown, by the name that follows `npm run demo --`. */
const demos: Record<string, () => Promise<{ succeeded: boolean }>> = {
  messages: showMessages,
  assistant: showAssistant,
}

try {
  const [name = 'messages'] = process.argv.slice(2)
  const show = Object.hasOwn(demos, name) ? demos[name] : undefined
  if (show === undefined)
    throw new SetupError(`There is no demo ${name}. There are: ${Object.keys(demos).join(', ')}.`)
  process.exitCode = (await show()).succeeded ? 0 : 1
} catch (error) {
  if (!(error instanceof SetupError || error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exitCode = 1
}

/** A conversation with an assistant, through a workflow of three steps. */
async function showAssistant(): Promise<{ succeeded: boolean }> {
  const urls = await findRunningSystem(join(STATE_DIRECTORY, 'run.json'))
  console.log(`A clinic's assistant books an appointment, through ${urls.gatewayUrl}`)
  console.log("The model is the bundled simulator; the clinic's diary fails once\n")
  const onExchange = (message: Exchange) => console.log(exchangeText(message))
  const result = await runAssistantDemo({ ...urls, onExchange })
  console.log(resultText(result))
  return { succeeded: isComplete(result) }
}

async function showMessages(): Promise<{ succeeded: boolean }> {
  const result = await sendMessages()
  console.log(reportOf(result))
  return { succeeded: result.reconciled }
}

async function sendMessages(): Promise<DemoResult> {
  const { MESSAGES, THREADS } = parseConfig(size, process.env)
  const runFile = join(STATE_DIRECTORY, 'run.json')
  const system = await findRunningSystem(runFile)
  console.log(`Sending ${MESSAGES} messages over ${THREADS} threads through ${system.gatewayUrl}`)
  console.log('5% of the sends fail, 2% of the responses get lost, and half-way a dispatcher is killed')
  const bars = new cliProgress.MultiBar({
    format: '{what} [{bar}] {percentage}% {value}/{total} in {duration_formatted}',
    stream: process.stdout,
    noTTYOutput: true,
    notTTYSchedule: 2_000,
  })
  const accepted = bars.create(MESSAGES, 0, { what: 'answered 200    ' })
  const arrived = bars.create(MESSAGES, 0, { what: 'at the simulator' })
  const progress = {
    accepted: () => accepted.increment(),
    arrived: (different: number) => arrived.update(different),
    killing: (victim: string) => bars.log(`Killing ${victim} (SIGKILL)\n`),
  }
  try {
    return await runDemo({ system, runFile, messages: MESSAGES, threads: THREADS, progress })
  } finally {
    bars.stop()
  }
}

/** The demo's result as text: latencies, the reconciliation table and the dispatcher's states. */
function reportOf(result: DemoResult): string {
  const { reconciliation, latency, count, troubles, kill, reconciled } = result
  return [
    '',
    line('Latency', 'p50', 'p99'),
    latencyLine('post → 200', latency.response),
    latencyLine('post → simulator', latency.arrival),
    '',
    'Trouble',
    ...Object.entries(troubles.refused).map(([code, count]) =>
      line(`  sends refused (${code})`, figure(count)),
    ),
    line('  responses lost', figure(troubles.dropped)),
    line(`  ${kill.victim} killed, back after`, duration(kill.readyAfterMs)),
    '',
    'Reconciliation',
    ...reconciliationLines(reconciliation),
    '',
    'As the dispatcher counts them',
    ...countLines(count),
    '',
    reconciled
      ? 'Every message arrived, once and in order.'
      : 'Not every message arrived once and in order: see the table.',
  ].join('\n')
}

function reconciliationLines(reconciliation: Reconciliation): string[] {
  const rows: [string, number][] = [
    ['posted', reconciliation.posted],
    ['answered 200', reconciliation.accepted],
    ['at the simulator', reconciliation.arrived],
    ['each once', reconciliation.once],
    ['doubled', reconciliation.doubled],
    ['missing', reconciliation.missing],
    ['threads out of order', reconciliation.threadsOutOfOrder],
    ['difference', reconciliation.accepted - reconciliation.arrived],
  ]
  return rows.map(([name, count]) => line(`  ${name}`, figure(count)))
}

/** What there is none of is left out, but for the figures that the others add up to. */
function countLines(count: DispatcherCount): string[] {
  const shown: Record<string, string> = { inFlight: 'in flight', unaudited: 'not yet audited' }
  const always = ['accepted', 'inFlight', 'difference']
  return Object.entries(count)
    .filter(([name, number]) => number !== 0 || always.includes(name))
    .map(([name, number]) => line(`  ${shown[name] ?? name}`, figure(number)))
}

function latencyLine(name: string, values: readonly number[]): string {
  return line(`  ${name}`, duration(percentile(values, 0.5)), duration(percentile(values, 0.99)))
}

function line(label: string, ...figures: string[]): string {
  return label.padEnd(LABEL) + figures.map((text) => text.padStart(FIGURE)).join('')
}

function figure(count: number): string {
  return count.toLocaleString('en-US')
}

function duration(milliseconds: number | undefined): string {
  if (milliseconds === undefined) return '–'
  return milliseconds < 1_000 ? `${milliseconds.toFixed(1)} ms` : `${(milliseconds / 1_000).toFixed(2)} s`
}
