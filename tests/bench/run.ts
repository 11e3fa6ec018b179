// Runs every benchmark, one after the other, and prints one table of all ratios.
//   npm run bench            all of them, the longest with less of each than by name
//   npm run bench -- intake  only those named
//   npm run bench -- quick   all of them, small: each ratio once; also with names
//   npm run bench -- write   stores what was measured in docs/measurements.json, and writes docs/measurements.md; also with names
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { aimOf, meetsAim, type Result, spreadOf } from '../lab/report/results.ts'
import { storeMeasurements } from './measurements.ts'

interface Benchmark {
  script: string
  /** Its smaller sizes in a run of all. Values of the environment take precedence, here and in `quick`. */
  among?: Record<string, string>
  /** Its sizes in a quick run: one repetition of each ratio. */
  quick: Record<string, string>
}

const BENCHMARKS: Record<string, Benchmark> = {
  gateway: { script: 'gateway/run.ts', quick: { RUNS: '1', DURATION: '1' } },
  intake: {
    script: 'intake.ts',
    among: { MESSAGES: '200000' },
    quick: { RUNS: '1', DURATION: '1', STEADY_SECONDS: '2', MESSAGES: '20000' },
  },
  'public-intake': { script: 'gateway/intake.ts', quick: { RUNS: '1', DURATION: '1' } },
  dispatch: {
    script: 'dispatch.ts',
    among: { MESSAGES: '40000' },
    quick: { RUNS: '1', WARM_UPS: '0', MESSAGES: '10000' },
  },
  backlog: {
    script: 'dispatch-backlog.ts',
    among: { MESSAGES: '100000' },
    quick: { MESSAGES: '10000' },
  },
  fairness: {
    script: 'fairness.ts',
    among: { SECONDS: '30' },
    quick: { WARM_UP_SECONDS: '3', SECONDS: '5', FLOOD: '2000' },
  },
  agents: {
    script: 'agents.ts',
    among: { CONVERSATIONS: '500', EACH: '2', MESSAGES: '12000', SLICES: '6', MODEL_MS: '2000' },
    quick: { RUNS: '1', SLICES: '2', CONVERSATIONS: '50', MESSAGES: '2000', MODEL_MS: '500' },
  },
  events: {
    script: 'events.ts',
    among: { MESSAGES: '3000' },
    quick: { RUNS: '1', WARM_UPS: '0', MESSAGES: '500', WAITING: '10000' },
  },
  configuration: {
    script: 'configuration.ts',
    among: { DURATION: '4' },
    quick: { RUNS: '1', DURATION: '1', DOCUMENTS: '20' },
  },
  lists: {
    script: 'configuration-lists.ts',
    among: { TASKS: '200000', ROUNDS: '100' },
    quick: { TASKS: '20000', WARM_UPS: '2', ROUNDS: '10' },
  },
  streams: { script: 'streams.ts', quick: { STREAMS: '100', SECONDS: '5' } },
  threads: {
    script: 'threads.ts',
    among: { THREADS: '200000' },
    quick: { THREADS: '20000', ROUNDS: '20' },
  },
  people: {
    script: 'people.ts',
    among: { PEOPLE: '200000' },
    quick: { PEOPLE: '20000', ROUNDS: '2' },
  },
  console: {
    script: 'console.ts',
    among: { MESSAGES: '200000' },
    quick: { MESSAGES: '20000', THREADS: '1000', ROUNDS: '10', COLD_STARTS: '2' },
  },
  start: { script: 'start.ts', quick: { RUNS: '1' } },
  idle: { script: 'idle.ts', among: { RUNS: '1' }, quick: { RUNS: '1', IDLE_SECONDS: '5' } },
  'end-to-end': {
    script: 'end-to-end.ts',
    quick: { WARM_UP_MESSAGES: '2000', IDLE_SECONDS: '2', CALM_SECONDS: '2', DURATION: '3' },
  },
  auditor: { script: 'auditor.ts', quick: { MESSAGES: '5000' } },
  peers: {
    script: 'peers/run.ts',
    quick: {
      WARM_UP_MESSAGES: '2000',
      IDLE_SECONDS: '2',
      CALM_SECONDS: '2',
      MESSAGES: '2000',
      STEADY_SECONDS: '5',
    },
  },
}
const QUICK = 'quick'
const WRITE = 'write'

const named = process.argv.slice(2)
const isQuick = named.includes(QUICK)
const isWritten = named.includes(WRITE)
const requested = named.filter((name) => ![QUICK, WRITE].includes(name))
const unknown = requested.filter((name) => !(name in BENCHMARKS))
if (unknown.length > 0)
  throw new Error(`There are ${Object.keys(BENCHMARKS).join(', ')}, ${QUICK} and ${WRITE}; not ${unknown}`)
if (isQuick && isWritten) throw new Error('What a quick run measures is too small to be stored')

const directory = mkdtempSync(join(tmpdir(), 'parley-results-'))
const measured: Record<string, Result[]> = {}
const failed: string[] = []
const seconds: Record<string, number> = {}
try {
  for (const [name, { script, among = {}, quick }] of Object.entries(BENCHMARKS)) {
    if (requested.length > 0 && !requested.includes(name)) continue
    console.log(`\n# ${name}`)
    const began = performance.now()
    const file = join(directory, `${name}.jsonl`)
    const sizes = isQuick ? quick : requested.length === 0 ? among : {}
    const child = spawn(process.execPath, [join(CHECKOUT, 'tests/bench', script)], {
      stdio: 'inherit',
      env: { ...sizes, ...process.env, BENCH_RESULTS: file },
    })
    const [code] = await once(child, 'exit')
    seconds[name] = (performance.now() - began) / 1_000
    console.log(`${name} took ${seconds[name].toFixed(0)} s`)
    measured[name] = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(parse) : []
    if (code !== 0) failed.push(name)
  }
  const results = Object.values(measured).flat()
  const [{ model = 'unknown' } = {}] = cpus()
  const on = `${cpus().length} × ${model}, Node ${process.version}`
  const date = new Date().toISOString().slice(0, 10)
  console.log(`\n${on}, ${date}`)
  console.table(results.map(line))
  const durations = Object.entries(seconds).map(([name, took]) => `${name} ${took.toFixed(0)}`)
  console.log(
    `${(Object.values(seconds).reduce((sum, one) => sum + one, 0) / 60).toFixed(1)} minutes; seconds of each: ${durations.join(', ')}`,
  )
  const short = results.filter((result) => !meetsAim(result)).map(({ row }) => row)
  for (const row of short) console.log(`falls short: ${row}`)
  for (const name of failed) console.log(`did not end well: ${name}`)
  if (short.length > 0 || failed.length > 0) process.exitCode = 1
  const ended = Object.entries(measured).filter(([name]) => !failed.includes(name))
  if (isWritten) storeMeasurements(Object.fromEntries(ended), { on, date })
} finally {
  rmSync(directory, { recursive: true, force: true })
}

function parse(text: string): Result {
  return JSON.parse(text)
}

function line(result: Result) {
  const { row, parley, against, ratio } = result
  const aim = aimOf(result)
  return {
    row,
    parley,
    against,
    ratio: ratio?.toFixed(2) ?? '',
    spread: spreadOf(result),
    aim,
    meetsAim: aim === '' ? '' : meetsAim(result) ? 'yes' : 'no',
  }
}
