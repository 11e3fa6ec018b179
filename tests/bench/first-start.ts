import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { cloneFiles, npmStart } from './npm-start.ts'
import { compare, median, report } from './results.ts'

const ROW = '`npm start` to ready, first, with its downloads'
const MOST = 0.65

/**
 * Measures in turns the first `npm start` of this checkout and of another one, each in a new clone whose caches, npm's too, are
 * empty; packages of the operating system stay. Without another one the row says so.
 */
export async function reportFirstStart({
  base,
  turns,
}: {
  base: string | undefined
  turns: number
}): Promise<void> {
  const missing = whatIsMissing(base)
  if (base === undefined || missing !== undefined) {
    report({ row: ROW, parley: '', against: `not measured: ${missing}` })
    return
  }
  const [ours, others]: [number[], number[]] = [[], []]
  for (let turn = 0; turn < turns; turn++) {
    others.push(await firstStart(base))
    ours.push(await firstStart(CHECKOUT))
    console.log(`first start ${ours.at(-1)?.toFixed(1)} s, of ${base} ${others.at(-1)?.toFixed(1)} s`)
  }
  report({
    row: ROW,
    parley: `${median(ours).toFixed(1)} s`,
    against: `${base}: ${median(others).toFixed(1)} s`,
    ...compare(ours, others),
    reach: { most: MOST },
  })
}

function whatIsMissing(base: string | undefined): string | undefined {
  if (base === undefined) return 'another checkout (BASE is not set)'
  return existsSync(join(base, 'deploy/local/bootstrap.mjs')) ? undefined : `a checkout (${base})`
}

/** Seconds. */
async function firstStart(checkout: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-first-'))
  const clone = join(folder, 'checkout')
  try {
    cloneFiles(checkout, clone)
    return (await npmStart(clone, { npm_config_cache: join(folder, 'npm') })).seconds
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
