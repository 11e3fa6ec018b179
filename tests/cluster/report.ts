import { seconds, tableLine } from '../faults/report.ts'
import type { Round } from '../faults/round.ts'
import { LATE_MS } from '../faults/whole.ts'

const COLUMNS = [
  ['fault', 20],
  ['posted', 7],
  ['accepted', 9],
  ['refused', 8],
  ['lost', 5],
  ['twice', 6],
  ['disorder', 9],
  ['whole', 6],
  ['slowest', 8],
  ['rpc again', 10],
  ['reads', 6],
  ['failed', 7],
  ['difference', 11],
] as const

/** The table's head, with what its columns mean. */
export function head(): string {
  const meaning = [
    'accepted: answered with 200; refused: posts that got another answer or none, and were repeated under their key;',
    `whole: seconds from the fault until the last message arrived that took over ${LATE_MS / 1_000} s (0.0: none did); slowest: from`,
    "a message's 200 to its arrival; rpc again: calls repeated under their id; failed: reads answered with 502 to 504 or",
    "not at all; difference: of the service's own equation",
  ]
  return [
    ...meaning,
    '',
    tableLine(
      COLUMNS,
      COLUMNS.map(([title]) => title),
    ),
  ].join('\n')
}

/** One round as a row, with what it broke below it. */
export function row(round: Round): string {
  const { reconciliation, count } = round
  const { posted, accepted, missing, doubled, threadsOutOfOrder } = reconciliation
  const cells = [
    round.name,
    ...[posted, accepted, round.repeatedPosts, missing, doubled, threadsOutOfOrder],
    seconds(round.wholeMs),
    seconds(round.slowestMs),
    ...[round.rpcRepeats, round.reads, round.failedReads],
    count?.difference ?? '?',
  ]
  return [tableLine(COLUMNS, cells), ...round.violations.map((what) => `  ! ${what}`)].join('\n')
}

/** The last line: what all rounds came to. */
export function verdict(rounds: Round[]): string {
  const sum = (figure: (round: Round) => number) => rounds.reduce((total, round) => total + figure(round), 0)
  const longest = Math.max(0, ...rounds.map(({ wholeMs }) => wholeMs))
  const broken = rounds.filter(({ violations }) => violations.length > 0).length
  const figures = [
    `${rounds.length} rounds`,
    `${sum(({ reconciliation }) => reconciliation.accepted).toLocaleString('en-US')} messages accepted`,
    `${sum(({ reconciliation }) => reconciliation.missing)} lost`,
    `${sum(({ reconciliation }) => reconciliation.doubled)} sent twice`,
    `${sum(({ reconciliation }) => reconciliation.threadsOutOfOrder)} threads out of order`,
    `whole again after ${seconds(longest)} s at most`,
  ]
  const conclusion = broken === 0 ? 'PASSED' : `FAILED: ${broken} rounds broke a promise`
  return `\n${figures.join(', ')}. ${conclusion}.`
}
