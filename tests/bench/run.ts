// Runs every benchmark, one after the other, and prints one table of all ratios.
//   npm run bench            all of them
//   npm run bench -- intake  only those named
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { meetsAim, type Result } from './results.ts'

const SCRIPTS: Record<string, string> = {
  gateway: 'gateway/run.ts',
  intake: 'intake.ts',
  'public-intake': 'gateway/intake.ts',
  dispatch: 'dispatch.ts',
  backlog: 'dispatch-backlog.ts',
  fairness: 'fairness.ts',
  agents: 'agents.ts',
  events: 'events.ts',
  configuration: 'configuration.ts',
  lists: 'configuration-lists.ts',
  streams: 'streams.ts',
  threads: 'threads.ts',
  console: 'console.ts',
  start: 'start.ts',
  'end-to-end': 'end-to-end.ts',
  auditor: 'auditor.ts',
}

const requested = process.argv.slice(2)
const unknown = requested.filter((name) => !(name in SCRIPTS))
if (unknown.length > 0) throw new Error(`There are ${Object.keys(SCRIPTS).join(', ')}; not ${unknown}`)

const directory = mkdtempSync(join(tmpdir(), 'parley-results-'))
const file = join(directory, 'results.jsonl')
const failed: string[] = []
try {
  for (const [name, script] of Object.entries(SCRIPTS)) {
    if (requested.length > 0 && !requested.includes(name)) continue
    console.log(`\n# ${name}`)
    const child = spawn(process.execPath, [join(CHECKOUT, 'tests/bench', script)], {
      stdio: 'inherit',
      env: { ...process.env, BENCH_RESULTS: file },
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) failed.push(name)
  }
  const results = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(parse) : []
  const [{ model = 'unknown' } = {}] = cpus()
  console.log(
    `\n${cpus().length} × ${model}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
  )
  console.table(results.map(line))
  const short = results.filter((result) => !meetsAim(result)).map(({ row }) => row)
  for (const row of short) console.log(`falls short: ${row}`)
  for (const name of failed) console.log(`did not end well: ${name}`)
  if (short.length > 0 || failed.length > 0) process.exitCode = 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}

function parse(text: string): Result {
  return JSON.parse(text)
}

function line(result: Result) {
  const { row, parley, against, ratio, spread, reach } = result
  const aim =
    reach?.least === undefined ? (reach?.most === undefined ? '' : `≤ ${reach.most}`) : `≥ ${reach.least}`
  return {
    row,
    parley,
    against,
    ratio: ratio.toFixed(2),
    spread: spread.map((each) => each.toFixed(2)).join(' to '),
    aim,
    meetsAim: aim === '' ? '' : meetsAim(result) ? 'yes' : 'no',
  }
}
