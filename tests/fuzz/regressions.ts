import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { FuzzCase } from './fuzz-case.ts'

/** A case that once broke something. */
interface Regression {
  /** What it broke. */
  found: string
  case: FuzzCase
}

const DIRECTORY = new URL('regressions/', import.meta.url)

export function readRegressions(): Regression[] {
  const files = readdirSync(DIRECTORY).filter((name) => name.endsWith('.json'))
  return files.toSorted().map((name) => JSON.parse(readFileSync(new URL(name, DIRECTORY), 'utf8')))
}

/** Keeps a case, under a name made from what it broke. */
export function saveRegression(regression: Regression): void {
  const { found } = regression
  const words = found
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, '-')
    .slice(0, 70)
  const hash = createHash('sha256').update(found).digest('hex').slice(0, 6)
  const name = `${words.replaceAll(/^-|-$/g, '')}-${hash}.json`
  writeFileSync(new URL(name, DIRECTORY), `${JSON.stringify(regression, null, 2)}\n`)
}
