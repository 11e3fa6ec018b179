import { histogramLines } from './histogram.ts'
import { percentile, uncounted, WEBHOOK_COUNTS } from './reconciliation.ts'
import type { DemoResult } from './run-demo.ts'

const LABEL = 40
const FIGURE = 12

/** Shows the result of a calm run, at most 80 columns wide. */
export function calmText({ latency }: Pick<DemoResult, 'latency'>): string {
  return [
    '',
    ...latencyLines({ latency }),
    '',
    '  From the post to the simulator',
    ...histogramLines(latency.arrival),
  ].join('\n')
}

/** Shows the result of a run with faults, and where the time went. */
export function faultyText({ latency, troubles, kill, times }: DemoResult): string {
  const { spent, messages } = times
  const all = Object.values(spent).reduce((sum, ms) => sum + ms, 0)
  const part = (name: string, ms: number) =>
    line(`  ${name}`, duration(ms), `${Math.round((100 * ms) / Math.max(1, all))}%`)
  return [
    '',
    ...latencyLines({ latency }),
    '',
    '  From the post to the simulator',
    ...histogramLines(latency.arrival),
    '',
    line('  What failed'),
    ...Object.entries(troubles.refused).map(([code, count]) =>
      line(`  sends refused (${code})`, figure(count)),
    ),
    line('  responses lost', figure(troubles.dropped)),
    ...(kill === undefined ? [] : [line(`  ${kill.victim} killed, back after`, duration(kill.readyAfterMs))]),
    '',
    `  Where the time went, all ${figure(messages)} messages together`,
    part('uncertain window, after a lost response', spent.uncertain),
    part('pause before a retry', spent.retry),
    part('take-over from the killed dispatcher', spent.takeOver),
    part('rate limit and queue', spent.queue),
    part('the provider itself', spent.provider),
  ].join('\n')
}

function latencyLines({ latency }: Pick<DemoResult, 'latency'>): string[] {
  const row = (name: string, values: readonly number[]) =>
    line(`  ${name}`, duration(percentile(values, 0.5)), duration(percentile(values, 0.99)))
  return [
    line('  Latency', 'p50', 'p99'),
    row('post → 200', latency.response),
    row('post → simulator', latency.arrival),
  ]
}

/** Shows the fates of the messages of both runs, side by side. */
export function tableText(calm: DemoResult, faulty: DemoResult): string {
  const row = (name: string, of: (result: DemoResult) => number) =>
    line(`  ${name}`, figure(of(calm)), figure(of(faulty)))
  const counted = (Object.keys(calm.count) as (keyof DemoResult['count'])[]).filter(
    (name) => calm.count[name] + faulty.count[name] > 0 || ALWAYS.includes(name),
  )
  return [
    '',
    line('  What became of them', 'calm', 'with faults'),
    row('posted', ({ reconciliation }) => reconciliation.posted),
    row('answered 200', ({ reconciliation }) => reconciliation.accepted),
    row('at the simulator', ({ reconciliation }) => reconciliation.arrived),
    row('each once', ({ reconciliation }) => reconciliation.once),
    row('doubled', ({ reconciliation }) => reconciliation.doubled),
    row('missing', ({ reconciliation }) => reconciliation.missing),
    row('threads out of order', ({ reconciliation }) => reconciliation.threadsOutOfOrder),
    '',
    '  As the dispatcher counts them',
    ...counted.map((name) => row(SHOWN[name] ?? name, ({ count }) => count[name])),
    '',
    '  As the webhook counts what the simulator posted',
    ...['posted', ...WEBHOOK_COUNTS].map((name) =>
      row(name, ({ troubles: { webhook } }) => webhook[name] ?? 0),
    ),
    row('difference', ({ troubles: { webhook } }) => uncounted(webhook)),
    '',
    calm.reconciled && faulty.reconciled
      ? 'Every message arrived, once and in order.'
      : 'Not every message arrived once and in order: see the table.',
  ].join('\n')
}

/** Figures that are shown when they are 0 as well, since others add up to them. */
const ALWAYS: readonly string[] = ['accepted', 'inFlight', 'difference']
const SHOWN: Record<string, string> = { inFlight: 'in flight', unaudited: 'not yet audited' }

function line(label: string, ...figures: string[]): string {
  return (label.padEnd(LABEL) + figures.map((text) => text.padStart(FIGURE)).join('')).trimEnd()
}

function figure(count: number): string {
  return count.toLocaleString('en-US')
}

function duration(milliseconds: number | undefined): string {
  if (milliseconds === undefined) return '–'
  return milliseconds < 1_000 ? `${milliseconds.toFixed(1)} ms` : `${(milliseconds / 1_000).toFixed(2)} s`
}
