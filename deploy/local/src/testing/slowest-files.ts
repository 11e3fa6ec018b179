import { relative } from 'node:path'
import type { TestResult } from './test-worker.ts'

const SHOWN = 20

/** Reports at the end of a run of the tests which files took longest, on their worker's processor too, and until their first tests. */
export default class SlowestFiles {
  onRunComplete(
    _contexts: unknown,
    { testResults, startTime }: { testResults: TestResult[]; startTime: number },
  ): void {
    const files = testResults.map(({ testFilePath, perfStats, testResults: tests, cpuMs }) => {
      const begins = tests.flatMap(({ startAt }) => (typeof startAt === 'number' ? [startAt] : []))
      const { start, runtime } = perfStats
      return {
        path: relative('', testFilePath),
        ms: runtime,
        cpuMs,
        startMs: Math.min(...begins, start + runtime) - start,
      }
    })
    if (files.length <= 1) return
    const slowest = files.toSorted((a, b) => b.ms - a.ms).slice(0, SHOWN)
    const sum = (of: 'ms' | 'cpuMs' | 'startMs') =>
      seconds(files.reduce((total, file) => total + file[of], 0))
    const lines = slowest.map(
      ({ path, ms, cpuMs, startMs }) => `${seconds(ms)} ${seconds(cpuMs)} ${seconds(startMs)}  ${path}`,
    )
    const all = `${seconds(Date.now() - startTime).trim()} s; all files together ${sum('ms').trim()} s, on the processor ${sum('cpuMs').trim()} s, before their first tests ${sum('startMs').trim()} s`
    process.stderr.write(
      `\nThe slowest files, in seconds: in all, on its worker's processor, until its first test began:\n${lines.join('\n')}\n${files.length} files in ${all}\n`,
    )
  }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1).padStart(6)
