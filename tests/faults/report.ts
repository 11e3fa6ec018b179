import type { Round } from './round.ts'

const COLUMNS = [
  ['fault', 36],
  ['recovered', 9],
  ['settled', 8],
  ['slowest', 8],
  ['posted', 7],
  ['once', 6],
  ['lost', 5],
  ['doubled', 8],
  ['disorder', 9],
  ['difference', 11],
  ['repeats', 8],
  ['reads', 6],
  ['failed', 7],
  ['sockets', 8],
  ['MiB', 6],
] as const

/** The table's head, with what its columns mean. */
export function head(): string {
  const meaning = [
    'recovered: from the end of the fault (kill and restart: from its beginning) until every process is ready and',
    'messages are answered with 200; settled: from the end of the load until nothing is under way; slowest: from a',
    "message's 200 to its arrival; repeats: posts repeated for want of a 200; failed: reads answered with 502 to 504",
    'or cut; sockets, MiB: the most that any process holds more than before the first fault',
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
  const { reconciliation, count, grown } = round
  const cells = [
    round.name,
    seconds(round.recoveredMs),
    seconds(round.settledMs),
    seconds(round.slowestMs),
    reconciliation.posted,
    reconciliation.once,
    reconciliation.missing,
    reconciliation.doubled,
    reconciliation.threadsOutOfOrder,
    count?.difference ?? '?',
    round.repeatedPosts,
    round.reads,
    round.failedReads,
    grown === undefined ? '' : `+${grown.sockets}`,
    grown === undefined ? '' : `+${Math.round(grown.mebibytes)}`,
  ]
  return [tableLine(COLUMNS, cells), ...round.violations.map((what) => `  ! ${what}`)].join('\n')
}

/** The last line. */
export function summary(rounds: Round[], further: string[]): string {
  const sum = (figure: (round: Round) => number) =>
    rounds.reduce((total, round) => total + figure(round), 0).toLocaleString('en-US')
  const broken = rounds.filter((round) => round.violations.length > 0).length
  const slowest = Math.max(0, ...rounds.map(({ recoveredMs }) => recoveredMs ?? Number.POSITIVE_INFINITY))
  const figures = [
    `${rounds.length} rounds`,
    `${sum(({ reconciliation }) => reconciliation.accepted)} messages answered with 200`,
    `${sum(({ reconciliation }) => reconciliation.missing)} lost`,
    `${sum(({ reconciliation }) => reconciliation.doubled)} doubled`,
    `${sum(({ reconciliation }) => reconciliation.threadsOutOfOrder)} threads out of order`,
    `slowest recovery ${seconds(slowest)} s`,
  ]
  const verdict =
    broken === 0 && further.length === 0 ? 'Every promise was kept.' : `${broken} rounds broke a promise.`
  return ['', ...further.map((what) => `! ${what}`), `${figures.join(', ')}. ${verdict}`].join('\n')
}

/** Cells side by side, each as wide as its column says: the first at its left, the others at their right. */
export function tableLine(
  columns: ReadonlyArray<readonly [string, number]>,
  cells: ReadonlyArray<string | number>,
): string {
  return cells
    .map((cell, at) => {
      const width = columns[at]?.[1] ?? 0
      return at === 0 ? String(cell).padEnd(width) : String(cell).padStart(width)
    })
    .join(' ')
}

/** Milliseconds as seconds with one decimal; `never` for none. */
export const seconds = (milliseconds: number | undefined): string =>
  milliseconds === undefined ? 'never' : (milliseconds / 1_000).toFixed(1)
