import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { aimOf, meetsAim, type Result, spreadOf } from '../lab/report/results.ts'
import { commitOf } from './commit-of.ts'

/** The last results of one benchmark, and where they come from. */
interface Measurement {
  /** The day, as `2026-11-30`. */
  date: string
  commit: string
  /** Processors and version of Node. */
  on: string
  results: Result[]
}

/** By the benchmark's name. */
type Measurements = Record<string, Measurement>

const STORED = join(CHECKOUT, 'docs/measurements.json')
const PAGE = join(CHECKOUT, 'docs/measurements.md')

/** Puts the results of benchmarks in place of those that are stored of the same ones, and writes the page anew. */
export function storeMeasurements(
  measured: Record<string, Result[]>,
  { on, date }: { on: string; date: string },
): void {
  const commit = commitOf(CHECKOUT)
  const stored = readMeasurements()
  for (const [name, rows] of Object.entries(measured)) {
    // The others lack what they are compared with.
    const results = rows.filter(({ ratio }) => ratio !== undefined)
    if (results.length > 0) stored[name] = { date, commit, on, results }
  }
  writeFileSync(STORED, `${JSON.stringify(stored, null, 2)}\n`)
  writeFileSync(PAGE, renderMeasurementsPage(stored))
}

/** The stored ones. */
export const readMeasurements = (): Measurements => JSON.parse(readFileSync(STORED, 'utf8'))

/** The page of all stored measurements, as Markdown: a table for those of one day, commit and machine. */
export function renderMeasurementsPage(measurements: Measurements): string {
  const runs = Map.groupBy(Object.entries(measurements), ([, one]) => runOf(one))
  const parts = [...runs]
    .toSorted(([one], [other]) => (one < other ? 1 : -1))
    .map(([run, of]) => partOf(run, of))
  return `# Measurements

The last of each benchmark; a ratio is the median, with the lowest and highest, or the figure itself. \`npm run bench -- write\` writes this
page; [how fast it is](performance.md) has the reasons.

${parts.join('\n')}`
}

const runOf = ({ date, commit, on }: Measurement): string => `${date}, commit ${commit}, ${on}`

function partOf(run: string, measurements: [string, Measurement][]): string {
  const rows = measurements.flatMap(([name, { results }]) => results.map((result) => rowOf(name, result)))
  return `## ${run}

| benchmark and row | Parley, and what ran in turns with it | ratio | aim |
| --- | --- | --- | --- |
${rows.join('\n')}
`
}

function rowOf(name: string, result: Result): string {
  const { row, parley, against, ratio } = result
  const aim = aimOf(result)
  const [low, high] = result.spread ?? []
  const shown = [ratio?.toFixed(2) ?? '', low === high ? '' : `(${spreadOf(result)})`]
  const cells = [
    `\`${name}\` ${row}`,
    [parley, against].filter((figure) => figure !== '').join(', '),
    shown.filter((text) => text !== '').join(' '),
    aim === '' || meetsAim(result) ? aim : `${aim}, **missed**`,
  ]
  return `| ${cells.join(' | ')} |`
}
