import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { median, report } from './results.ts'

const MOST_MS = 300
const BIN = join(CHECKOUT, 'deploy/cli/bin/parley.mjs')

/** Measures how long the command line takes to say its version, once its scripts are compiled. */
export function reportCommandLine({ turns }: { turns: number }): void {
  const times = Array.from({ length: turns + 1 }, millisecondsOf).slice(1)
  const taken = median(times)
  report({
    row: `\`parley --version\`, once compiled, of ${MOST_MS} ms`,
    parley: `${taken.toFixed(0)} ms`,
    against: `${MOST_MS} ms`,
    ratio: taken / MOST_MS,
    spread: [Math.min(...times) / MOST_MS, Math.max(...times) / MOST_MS],
    reach: { most: 1 },
  })
}

function millisecondsOf(): number {
  const began = performance.now()
  execFileSync(process.execPath, [BIN, '--version'])
  return performance.now() - began
}
