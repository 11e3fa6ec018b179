import { count, figureRow } from '../lab/report/table.ts'
import type { FuzzRun } from './fuzz.ts'
import { KINDS } from './fuzz-case.ts'
import { ORACLES } from './judge.ts'
import { isInsideLimits, type ProcessUse } from './process-limits.ts'

const MAX_429 = 0.01
/** Of the requests of a workspace beside one whose servers misbehave. */
const MAX_P99_MS = 1_000

export interface FuzzReport extends FuzzRun {
  /** Processes that ended or were started again. */
  crashed: string[]
  processes: ProcessUse[]
  seconds: number
  seed: number
}

export function hasPassed(report: FuzzReport): boolean {
  const { tally, roundTrips, responses, payloads, isWitnessUntouched, crashed, processes } = report
  const failures = ORACLES.every((oracle) => tally.failures[oracle] === 0)
  const intact = roundTrips.changed.length === 0 && roundTrips.stored > 0
  const isServed = responses.refused === 0 && responses.p99Ms < MAX_P99_MS
  const isCounted = payloads.wrong.length === 0
  const alive = crashed.length === 0 && processes.every(isInsideLimits)
  const isWhole = failures && intact && isServed && isCounted && isWitnessUntouched && alive
  return isWhole && tally.share(429) < MAX_429
}

export function fuzzTable(report: FuzzReport): string {
  const { tally, roundTrips, regressions, responses, payloads, crashed, processes, seconds, seed } = report
  const statuses = [...tally.statuses].toSorted(([a], [b]) => a - b)
  return [
    '',
    figureRow('Requests', count(tally.total())),
    ...KINDS.map((kind) => figureRow(`  ${kind}`, count(tally.sent[kind]))),
    figureRow('  of them found before, sent again', count(regressions)),
    'Answers',
    ...statuses.map(([status, number]) => figureRow(`  ${status}`, count(number))),
    figureRow('  429, of all', `${(tally.share(429) * 100).toFixed(2)}%`),
    'Must be none',
    ...ORACLES.map((oracle) => figureRow(`  ${NAMES[oracle]}`, count(tally.failures[oracle]))),
    figureRow('  processes that ended', count(crashed.length), ...crashed),
    figureRow('  changes in a workspace apart', report.isWitnessUntouched ? '0' : 'some'),
    figureRow('  payloads of a provider counted wrong', count(payloads.wrong.length)),
    figureRow('  stored and read back changed', count(roundTrips.changed.length)),
    'Memory at most, MiB, and delay of the event loop, ms',
    ...processes.map((use) =>
      figureRow(
        `  ${use.name}${isInsideLimits(use) ? '' : ', too much'}`,
        count(use.mib),
        count(use.delayMs),
      ),
    ),
    `Beside ${count(responses.sent)} answers of models and MCP servers`,
    figureRow('  requests of others refused', count(responses.refused)),
    figureRow('  p99 of the others, ms', responses.p99Ms.toFixed(0)),
    'Else',
    figureRow('  payloads of a provider', count(payloads.sent)),
    figureRow('  stored and read back', count(roundTrips.stored)),
    figureRow('  seconds', seconds.toFixed(0)),
    figureRow('  seed', String(seed)),
    '',
    ...roundTrips.changed.slice(0, 20),
    ...payloads.wrong,
    ...tally.findings.map(({ signature }) => signature),
    hasPassed(report)
      ? 'Nothing was found.'
      : 'Something was found: what to send is above, and in tests/fuzz/regressions.json.',
  ].join('\n')
}

const NAMES: Record<(typeof ORACLES)[number], string> = {
  '5xx': 'answers of 5xx',
  'no answer': 'requests without an answer',
  'outside the document': 'answers outside the document',
  leak: 'answers that show too much',
  permission: 'answers a role may not have',
  'wrong status': 'attacks answered with another status',
}
