import { currentTestRun } from './current-test-run.ts'

/** Jest calls this once after all tests. */
export default async function tearDown(): Promise<void> {
  await currentTestRun()?.end()
}
