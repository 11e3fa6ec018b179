import type { TestRun } from './test-run.ts'

let current: TestRun | undefined

/** Keeps the run between jest's global setup and its global teardown. */
export function rememberTestRun(run: TestRun): void {
  current = run
}

export function currentTestRun(): TestRun | undefined {
  return current
}
