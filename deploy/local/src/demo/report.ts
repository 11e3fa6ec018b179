import type { DispatcherCount } from './gateway-client.ts'
import { percentile, type Reconciliation } from './reconciliation.ts'
import type { DemoResult } from './run-demo.ts'

const LABEL = 34
const FIGURE = 12

/** The demo's result as text: latencies, the conservation table and the dispatcher's states. */
export function reportOf(result: DemoResult): string {
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
    'Conservation',
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

const line = (label: string, ...figures: string[]): string =>
  label.padEnd(LABEL) + figures.map((text) => text.padStart(FIGURE)).join('')

const figure = (count: number): string => count.toLocaleString('en-US')

function duration(milliseconds: number | undefined): string {
  if (milliseconds === undefined) return '–'
  return milliseconds < 1_000 ? `${milliseconds.toFixed(1)} ms` : `${(milliseconds / 1_000).toFixed(2)} s`
}
