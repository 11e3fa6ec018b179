// How long `npm start` takes until it is ready: warm, beside its three servers alone on the same data; and the first time, with
// empty caches, beside that of another checkout. And how long the command line takes to begin.
//   BASE=/folder npm run bench -- start

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CACHE_DIRECTORY, CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { median, reportComparison, reportFigure } from '../lab/report/results.ts'
import { clock, cloneFiles, npmStart, reportFirstStart, type Start } from './first-start.ts'

const size = z.object({
  RUNS: integer({ min: 1, max: 20 }).default(3).describe('How often each is measured, in turns'),
  BASE: z.string().optional().describe('Another checkout, whose first start ours is compared with'),
})
const MOST = 1.3
const COMMANDS = 20

const MOST_MS = 300
const BIN = join(CHECKOUT, 'deploy/cli/bin/parley.mjs')

const { RUNS, BASE } = parseConfig(size, process.env)
const clone = mkdtempSync(join(tmpdir(), 'parley-start-'))
try {
  cloneCheckout()
  await npmStart(clone)
  const whole: Start[] = []
  const alone: Start[] = []
  for (let turn = 0; turn < RUNS; turn++) {
    alone.push(await serversAlone())
    whole.push(await npmStart(clone))
  }
  const seconds = (starts: Start[]) => starts.map((one) => one.seconds)
  const shown = (starts: Start[]) => `${median(seconds(starts)).toFixed(1)} s`
  const worked = (starts: Start[]) =>
    `${shown(starts)}, in which this machine's ${availableParallelism()} processors worked ${median(starts.map((one) => one.processorSeconds)).toFixed(1)} s`
  console.log(`npm start took ${worked(whole)}; its servers alone took ${worked(alone)}`)
  reportComparison({
    row: '`npm start` to ready, warm',
    ...{ ours: seconds(whole), others: seconds(alone), named: 'its three servers alone ' },
    ...{ digits: 1, unit: ' s', reach: { most: MOST } },
  })
} finally {
  rmSync(clone, { recursive: true, force: true })
}
reportCommandLine({ turns: COMMANDS })
await reportFirstStart({ base: BASE, turns: RUNS })

/** The checkout, with a state of its own but for what was downloaded. */
function cloneCheckout(): void {
  const files = cloneFiles(CHECKOUT, clone)
  // A workspace has modules of its own where it needs another version.
  const folders = new Set(files.map((name) => join(dirname(name), 'node_modules')))
  for (const modules of [...folders].filter((name) => existsSync(join(CHECKOUT, name))))
    symlinkSync(join(CHECKOUT, modules), join(clone, modules))
  mkdirSync(join(clone, '.local'), { mode: 0o700 })
  if (existsSync(CACHE_DIRECTORY)) symlinkSync(CACHE_DIRECTORY, join(clone, '.local/cache'))
}

async function serversAlone(): Promise<Start> {
  const taken = clock()
  const servers = await startServers({ directory: join(clone, '.local/servers'), say: () => {} })
  const start = taken()
  await servers.stop()
  return start
}

/** Measures how long the command line takes to say its version, once its scripts are compiled. */
function reportCommandLine({ turns }: { turns: number }): void {
  const times = Array.from({ length: turns + 1 }, millisecondsOf).slice(1)
  reportFigure({
    row: `\`parley --version\`, once compiled, of ${MOST_MS} ms`,
    ...{ values: times, of: MOST_MS, unit: ' ms', reach: { most: 1 } },
  })
}

function millisecondsOf(): number {
  const began = performance.now()
  execFileSync(process.execPath, [BIN, '--version'])
  return performance.now() - began
}
