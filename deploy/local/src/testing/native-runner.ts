import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import type {
  CallbackTestRunnerInterface,
  Config,
  OnTestFailure,
  OnTestStart,
  OnTestSuccess,
  Test,
  TestWatcher,
} from 'jest-runner'
import { currentTestRun } from './current-test-run.ts'
import type { FileOutcome, TestFile } from './test-worker.ts'

const WORKER = fileURLToPath(new URL('./test-worker.ts', import.meta.url))
const EXIT_MS = 10_000
/** Tests leave what they load in memory; beyond this, a new worker takes over, which loads all of it again. */
const MAX_WORKER_BYTES = Math.max(700 * 1024 * 1024, totalmem() / 16)

/**
 * Runs test files for jest on Node itself: each worker is one process that imports the files natively, and loads the
 * dependencies once, where jest's own runner evaluates all of them again in a context of each file.
 */
export default class NativeRunner implements CallbackTestRunnerInterface {
  readonly #globalConfig: Config.GlobalConfig

  constructor(globalConfig: Config.GlobalConfig) {
    this.#globalConfig = globalConfig
  }

  async runTests(
    tests: Test[],
    watcher: TestWatcher,
    onStart: OnTestStart,
    onResult: OnTestSuccess,
    onFailure: OnTestFailure,
    { serial }: { serial: boolean },
  ): Promise<void> {
    const files = [...tests]
    const again = new Set<Test>()
    const runSome = async () => {
      let worker: ChildProcess | undefined
      for (let test = files.shift(); test !== undefined && !watcher.isInterrupted(); test = files.shift()) {
        worker = worker?.connected ? worker : startWorker()
        await onStart(test)
        const { path, context } = test
        const startedAt = performance.now()
        const outcome = await run(worker, { path, config: context.config, globalConfig: this.#globalConfig })
        if (hasFailed(outcome) && !again.has(test) && currentTestRun()?.hasLostServerSince(startedAt)) {
          process.stderr.write(`${path} is run again: it failed while a server had ended by itself.\n`)
          again.add(test)
          files.push(test)
        } else if ('result' in outcome) {
          await onResult(test, outcome.result)
          if (outcome.bytes > MAX_WORKER_BYTES) await end(worker)
        } else {
          await onFailure(test, { message: outcome.failure, stack: outcome.failure, type: 'Error' })
        }
        // A file that left something open must not disturb another one.
        if ('failure' in outcome || outcome.isLeaking) {
          worker.kill('SIGKILL')
          worker = undefined
        }
      }
      if (worker?.connected) await end(worker)
    }
    const workers = serial ? 1 : Math.min(this.#globalConfig.maxWorkers, tests.length)
    await Promise.all(Array.from({ length: workers }, runSome))
  }
}

function hasFailed(outcome: FileOutcome): boolean {
  return (
    'failure' in outcome || outcome.result.numFailingTests > 0 || outcome.result.testExecError !== undefined
  )
}

function startWorker(): ChildProcess {
  return fork(WORKER, {
    // With room for what is young, collecting it takes a third of the time.
    execArgv: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=64'],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

async function run(worker: ChildProcess, file: TestFile): Promise<FileOutcome> {
  const settled = new AbortController()
  const options = { signal: settled.signal }
  try {
    const replied = once(worker, 'message', options).then(([outcome]) => outcome as FileOutcome)
    const died = once(worker, 'exit', options).then(([code, signal]) => ({
      failure: `The worker ended before the tests did (${signal ?? `exit code ${code}`}).`,
      bytes: 0,
    }))
    worker.send(file)
    return await Promise.race([replied, died.catch(() => new Promise<never>(() => {}))])
  } finally {
    settled.abort()
  }
}

/** After each file nothing is left open, so a worker ends by itself. */
async function end(worker: ChildProcess): Promise<void> {
  worker.disconnect()
  if (worker.exitCode !== null) return
  try {
    await once(worker, 'exit', { signal: AbortSignal.timeout(EXIT_MS) })
  } catch {
    worker.kill('SIGKILL')
    throw new Error('A test worker did not end by itself.')
  }
}
