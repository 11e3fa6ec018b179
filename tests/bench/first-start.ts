import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { isReady } from '@parley/local/demo/running-system'
import { waitUntil } from '@parley/local/wait-until'
import { report, reportComparison } from '../lab/report/results.ts'
import { machineSeconds } from '../lab/system/processes.ts'
import { commitOf } from './commit-of.ts'

const ROW = '`npm start` to ready, first, with its downloads'
const PORT = 18_441
const READY_MS = 900_000
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
  reportComparison({
    row: ROW,
    ours,
    others,
    named: `commit ${commitOf(base)}: `,
    digits: 1,
    unit: ' s',
    reach: { most: MOST },
  })
}

function whatIsMissing(base: string | undefined): string | undefined {
  if (base === undefined) return 'another checkout (BASE is not set)'
  return existsSync(join(base, 'deploy/local/bootstrap.mjs')) ? undefined : 'another checkout (BASE is none)'
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

/** How long a start took, and what the machine's processors worked meanwhile, for whom it may have been. */
export interface Start {
  seconds: number
  processorSeconds: number
}

export function clock(): () => Start {
  const [began, worked] = [performance.now(), machineSeconds()]
  return () => ({
    seconds: (performance.now() - began) / 1_000,
    processorSeconds: machineSeconds() - worked,
  })
}

/** From the command to a ready gateway, in a checkout. */
export async function npmStart(checkout: string, environment: Record<string, string> = {}): Promise<Start> {
  const taken = clock()
  const env = { ...process.env, PORT: String(PORT), ...environment }
  const child = spawn('npm', ['start', '--silent'], {
    cwd: checkout,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const gone = once(child, 'exit')
  try {
    const ready = () => isReady(`http://127.0.0.1:${PORT}`)
    if (!(await waitUntil(ready, { timeoutMs: READY_MS, intervalMs: 50 })))
      throw new Error('it did not become ready')
    return taken()
  } finally {
    child.kill('SIGTERM')
    await gone
  }
}

/** Copies what Git has of a checkout, as it is there now; returns the files' names. */
export function cloneFiles(from: string, to: string): string[] {
  const files = execFileSync('git', ['ls-files'], { cwd: from, encoding: 'utf8' }).trim().split('\n')
  for (const file of files.filter((name) => existsSync(join(from, name)))) {
    mkdirSync(dirname(join(to, file)), { recursive: true })
    cpSync(join(from, file), join(to, file))
  }
  return files
}
