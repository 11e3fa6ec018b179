import { stopWithParent } from '../processes/owned.ts'
import { rememberTestRun } from './current-test-run.ts'
import { startTestRun } from './test-run.ts'

const INTERRUPTED = 130

/** Jest calls this once before all tests. */
export default async function setUp(): Promise<void> {
  const stopping = new AbortController()
  const starting = startTestRun(stopping.signal)
  stopWithParent(() => {
    if (stopping.signal.aborted) return
    stopping.abort()
    const abort = async () => (await starting).abort()
    void abort().finally(() => process.exit(INTERRUPTED))
  })
  rememberTestRun(await starting)
}
