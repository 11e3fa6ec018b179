import { appendFileSync } from 'node:fs'

/** One line of the table that `npm run bench` ends with. */
export interface Result {
  row: string
  /** What Parley reached, and what the other did in the same run. */
  parley: string
  against: string
  /** Nothing where the other is not on this machine. */
  ratio?: number
  /** Lowest and highest of the repetitions. */
  spread?: [low: number, high: number]
  /** What is aimed at, as `≥ 0.5`; nothing when it is only told. */
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

/** The middle one; of an even number the higher of the two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Ratios of what was measured in turns, as a result has them. */
export function compare(ours: readonly number[], others: readonly number[]) {
  const ratios = ours.map((value, turn) => value / (others[turn] ?? Number.NaN))
  return { ratio: median(ratios), spread: [Math.min(...ratios), Math.max(...ratios)] as [number, number] }
}
