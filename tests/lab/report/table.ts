import type { Posted } from '@parley/local/demo/post-threads'
import { latencies, type Reconciliation } from '@parley/local/demo/reconciliation'
import type { Arrival } from '@parley/local/demo/watch-simulator'
import { quantile } from './results.ts'

/** The lines that a scenario prints; `passed` is true if all held. */
export interface ScenarioResult {
  table: string
  passed: boolean
}

const LABEL = 56
const FIGURE = 14

/** A label, and its figures at its right. */
export const figureRow = (label: string, ...figures: string[]): string =>
  label.padEnd(LABEL) + figures.map((figure) => figure.padStart(FIGURE)).join('  ')

/** A number as a table has it, without decimals. */
export const count = (value: number): string => Math.round(value).toLocaleString('en-US')

/** A part in percent of all. */
export const share = (part: number, all: number): string => `${((part / Math.max(all, 1)) * 100).toFixed(2)}%`

/** Milliseconds as seconds with one decimal; `never` for none. */
export const seconds = (milliseconds: number | undefined): string =>
  milliseconds === undefined ? 'never' : (milliseconds / 1_000).toFixed(1)

/** The same with the unit; a dash for none. */
export const inSeconds = (milliseconds: number | undefined): string =>
  milliseconds === undefined ? '–' : `${seconds(milliseconds)} s`

/** The fate of the messages of a load. */
export function reconciliationRows(reconciliation: Reconciliation): string[] {
  return [
    figureRow('  posted', count(reconciliation.posted)),
    figureRow('  answered 200', count(reconciliation.accepted)),
    figureRow('  arrived once', count(reconciliation.once)),
    figureRow('  lost', count(reconciliation.missing)),
    figureRow('  doubled', count(reconciliation.doubled)),
    figureRow('  threads out of order', count(reconciliation.threadsOutOfOrder)),
  ]
}

/** How often one was posted again, for want of a 200. */
export const repeatedPosts = (posted: readonly Posted[]): number =>
  posted.reduce((sum, { repeats }) => sum + repeats, 0)

/** How many messages are in each state. */
export const stateRows = (states: Record<string, number>): string[] =>
  Object.entries(states).map(([state, number]) => figureRow(`  in the store: ${state}`, count(number)))

/** From a message's 200 to what it led to. */
export function arrivalRows(what: string, posted: readonly Posted[], received: readonly Arrival[]): string[] {
  const accepted = posted.map((one) => ({ ...one, postedAt: one.acceptedAt ?? one.postedAt }))
  const ms = latencies(accepted, received).arrival
  return [
    figureRow(`  from 200 to ${what}, median`, inSeconds(quantile(ms, 0.5))),
    figureRow(`  from 200 to ${what}, slowest`, inSeconds(quantile(ms, 1))),
  ]
}

/** Names and widths of columns, the first of which is at the left. */
type Columns = ReadonlyArray<readonly [title: string, width: number, ...more: unknown[]]>

/** The meaning of the columns, and their titles. */
export const tableHead = (meaning: string[], columns: Columns): string =>
  [
    ...meaning,
    '',
    tableLine(
      columns,
      columns.map(([title]) => title),
    ),
  ].join('\n')

/** Cells side by side, each as wide as its column says, with what is wrong below them. */
export function tableLine(
  columns: Columns,
  cells: ReadonlyArray<string | number>,
  wrong: readonly string[] = [],
): string {
  const line = cells.map((cell, at) => {
    const width = columns[at]?.[1] ?? 0
    return at === 0 ? String(cell).padEnd(width) : String(cell).padStart(width)
  })
  return [line.join(' '), ...wrong.map((what) => `  ! ${what}`)].join('\n')
}
