import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { startBenchSystem } from './bench-system.ts'
import { closedLoop, type LoopCall, type Measured } from './closed-loop.ts'
import { compare, median, report } from './results.ts'
import { taskBody } from './seed-tasks.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 60 }).default(5).describe('Seconds of one measurement'),
  CONNECTIONS: integer({ min: 1, max: 256 }).default(32).describe('Requests under way at a time'),
  DOCUMENTS: integer({ min: 10, max: 1_000 }).default(1_000).describe('Documents that are read and replaced'),
  RUNS: integer({ min: 1, max: 99 }).default(3).describe('How often each is measured, in turns'),
})
const WORKSPACE = 1

const { DURATION, CONNECTIONS, DOCUMENTS, RUNS } = parseConfig(size, process.env)
const kinds: Record<string, { least: number; next(index: number): LoopCall }> = {
  'POST, a new document': {
    least: 0.6,
    next: () => ({ method: 'POST', path: '/rest/tasks', body: taskBody }),
  },
  [`PUT, one of ${DOCUMENTS}`]: {
    least: 0.6,
    next: (at) => ({ method: 'PUT', path: one(at), body: taskBody }),
  },
  [`GET, one of ${DOCUMENTS}`]: { least: 0.8, next: (at) => ({ method: 'GET', path: one(at) }) },
  'GET, a list of 50': { least: 0.8, next: () => ({ method: 'GET', path: '/rest/tasks' }) },
}
const one = (at: number): string => `/rest/tasks/${1 + (at % DOCUMENTS)}`

const system = await startBenchSystem('configuration')
try {
  const ours = await system.startConfiguration()
  const bare = await system.startScript('tests/bench/bare-express-mongoose.ts', {})
  const rows: Record<string, object> = {}
  for (const [kind, { least, next }] of Object.entries(kinds)) {
    const runs: { ours: Measured; bare: Measured }[] = []
    for (let count = 0; count < RUNS; count++) {
      runs.push({ ours: await load(ours.url, next), bare: await load(bare.url, next) })
    }
    const ratio = median(runs.map((run) => run.ours.perSecond / run.bare.perSecond))
    const failures = runs.reduce((sum, run) => sum + run.ours.failures + run.bare.failures, 0)
    rows[kind] = {
      'requests/s': Math.round(median(runs.map((run) => run.ours.perSecond))),
      'p99 ms': median(runs.map((run) => run.ours.p99)).toFixed(1),
      'bare requests/s': Math.round(median(runs.map((run) => run.bare.perSecond))),
      'bare p99 ms': median(runs.map((run) => run.bare.p99)).toFixed(1),
      ratio: ratio.toFixed(2),
      aim: least,
      failures,
    }
    report({
      row: `configuration, ${kind}`,
      parley: `${Math.round(median(runs.map((run) => run.ours.perSecond)))}/s`,
      against: `bare express + mongoose ${Math.round(median(runs.map((run) => run.bare.perSecond)))}/s`,
      ...compare(
        runs.map((run) => run.ours.perSecond),
        runs.map((run) => run.bare.perSecond),
      ),
      reach: { least },
    })
    if (ratio < least || failures > 0) process.exitCode = 1
  }
  console.log(`\nBeside a bare express + mongoose handler, ${CONNECTIONS} connections, median of ${RUNS}`)
  console.table(rows)
} finally {
  await system.stop()
}

function load(url: string, next: (index: number) => LoopCall): Promise<Measured> {
  const authorization = `Bearer ${system.token(WORKSPACE)}`
  return closedLoop({
    url,
    connections: CONNECTIONS,
    seconds: DURATION,
    headers: () => ({ authorization }),
    next,
  })
}
