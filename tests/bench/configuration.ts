import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { asFastAsPossible, type Load, requestBytes } from '../lab/load/http-lines.ts'
import { median, reportComparison } from '../lab/report/results.ts'
import {
  ALL_PERMISSIONS,
  type ListeningProcess,
  startServiceProcesses,
} from '../lab/system/service-processes.ts'
import { taskBody } from './seed-tasks.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 60 }).default(5).describe('Seconds of one measurement'),
  CONNECTIONS: integer({ min: 1, max: 256 }).default(32).describe('Requests under way at a time'),
  DOCUMENTS: integer({ min: 10, max: 1_000 }).default(1_000).describe('Documents that are read and replaced'),
  RUNS: integer({ min: 1, max: 99 }).default(3).describe('How often each is measured, in turns'),
})

const { DURATION, CONNECTIONS, DOCUMENTS, RUNS } = parseConfig(size, process.env)
interface Call {
  method: string
  path: string
  body?: string
}
const body = JSON.stringify(taskBody)
const kinds: Record<string, { least: number; next(index: number): Call }> = {
  'POST, a new document': {
    least: 0.6,
    next: () => ({ method: 'POST', path: '/rest/tasks', body }),
  },
  [`PUT, one of ${DOCUMENTS}`]: {
    least: 0.6,
    next: (at) => ({ method: 'PUT', path: one(at), body }),
  },
  [`GET, one of ${DOCUMENTS}`]: { least: 0.8, next: (at) => ({ method: 'GET', path: one(at) }) },
  'GET, a list of 50': { least: 0.8, next: () => ({ method: 'GET', path: '/rest/tasks' }) },
}
const one = (at: number): string => `/rest/tasks/${1 + (at % DOCUMENTS)}`

const system = await startServiceProcesses({ name: 'configuration', inner: () => ALL_PERMISSIONS })
try {
  const ours = await system.startService('configuration', { LOG_LEVEL: 'fatal' })
  const bare = await system.runListening('tests/bench/bare-express-mongoose.ts')
  const rows: Record<string, object> = {}
  for (const [kind, { least, next }] of Object.entries(kinds)) {
    const runs: { ours: Load; bare: Load }[] = []
    for (let count = 0; count < RUNS; count++) {
      runs.push({ ours: await load(ours, next), bare: await load(bare, next) })
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
    reportComparison({
      row: `configuration, ${kind}`,
      ours: runs.map((run) => run.ours.perSecond),
      others: runs.map((run) => run.bare.perSecond),
      ...{ named: 'bare express + mongoose ', unit: '/s', reach: { least } },
    })
    if (ratio < least || failures > 0) process.exitCode = 1
  }
  console.log(`\nBeside a bare express + mongoose handler, ${CONNECTIONS} connections, median of ${RUNS}`)
  console.table(rows)
} finally {
  await system.stop()
}

function load({ port }: ListeningProcess, next: (index: number) => Call): Promise<Load> {
  const headers = { authorization: `Bearer ${system.token('configuration')}` }
  const until = performance.now() + DURATION * 1_000
  return asFastAsPossible({
    ...{ port, connections: CONNECTIONS },
    request: (index) => requestBytes({ headers, ...next(index) }),
    goesOn: () => performance.now() < until,
  })
}
