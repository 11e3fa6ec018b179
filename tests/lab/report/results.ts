import { appendFileSync } from 'node:fs'
import { percentile } from '@parley/local/demo/reconciliation'
import { defined } from '@parley/shared/defined'

/** One line of the table that `npm run bench` ends with. */
export interface Result {
  row: string
  /** The results of Parley, and of the other in the same run. */
  parley: string
  against: string
  /** Nothing where the other is not on this machine. */
  ratio?: number
  /** Lowest and highest of the repetitions. */
  spread?: [low: number, high: number]
  /** The aim, as `≥ 0.5`; nothing when the result is only reported. */
  reach?: { least?: number; most?: number }
}

/** Hands a result to `npm run bench`, when that is what runs this script. */
export function report(result: Result): void {
  const file = process.env.BENCH_RESULTS
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(result)}\n`)
}

export function meetsAim({ ratio, reach = {} }: Result): boolean {
  if (ratio === undefined) return true
  return (
    ratio >= (reach.least ?? Number.NEGATIVE_INFINITY) && ratio <= (reach.most ?? Number.POSITIVE_INFINITY)
  )
}

/** The aim of a result, as `≥ 0.5`; empty where it has none. */
export function aimOf({ reach }: Pick<Result, 'reach'>): string {
  if (reach?.least !== undefined) return `≥ ${reach.least}`
  return reach?.most === undefined ? '' : `≤ ${reach.most}`
}

/** Lowest and highest ratio of a result, as `0.55 to 0.60`; empty where it has none. */
export const spreadOf = ({ spread }: Pick<Result, 'spread'>): string =>
  spread?.map((each) => each.toFixed(2)).join(' to ') ?? ''

/** The middle one; of an even number the higher of the two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Ratios of what was measured in turns, as a result has them. */
export function compare(ours: readonly number[], others: readonly number[]) {
  const ratios = ours.map((value, turn) => value / (others[turn] ?? Number.NaN))
  return { ratio: median(ratios), spread: [Math.min(...ratios), Math.max(...ratios)] as [number, number] }
}

/** The value of that nearest rank (`share` between 0 and 1); NaN of none. */
export const quantile = (values: readonly number[], share: number): number =>
  percentile(values, share) ?? Number.NaN

/** Items a second between two shares of all times (in milliseconds) at which one came, for example from 0.1 to 0.9. */
export function rateBetween(times: readonly number[], from: number, to: number): number {
  const first = Math.floor(times.length * from)
  const last = Math.min(times.length - 1, Math.floor(times.length * to))
  const took = (times[last] ?? 0) - (times[first] ?? 0)
  return ((last - first) * 1_000) / took
}

interface Shown {
  row: string
  /** Decimals, 0 when not given, and unit of what is shown. */
  digits?: number
  unit?: string
  reach?: Result['reach']
}

/** Reports what was measured in turns with something else. `named` says what that is, before its figure. */
export function reportComparison(
  options: Shown & { ours: readonly number[]; others: readonly number[]; named?: string },
): void {
  const { row, ours, others, named = '', reach } = options
  report({
    ...{ row, parley: shown(ours, options), against: `${named}${shown(others, options)}` },
    ...compare(ours, others),
    ...defined({ reach }),
  })
}

/** Reports a figure as a share of its bound `of`; by itself without one. */
export function reportFigure(options: Shown & { values: readonly number[]; of?: number }): void {
  const { row, values, of, reach } = options
  const shares = values.map((value) => value / (of ?? 1))
  report({
    ...{ row, parley: shown(values, options), against: of === undefined ? '' : shown([of], options) },
    ...{ ratio: median(shares), spread: [Math.min(...shares), Math.max(...shares)] },
    ...defined({ reach }),
  })
}

/** The median of some figures, as a table has it. */
export const shown = (
  values: readonly number[],
  { digits = 0, unit = '' }: Pick<Shown, 'digits' | 'unit'>,
): string => `${median(values).toFixed(digits)}${unit}`
