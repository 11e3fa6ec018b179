import { createRequire, registerHooks } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { ModernFakeTimers } from '@jest/fake-timers'
import { ModuleMocker } from 'jest-mock'
import type { Config, OnTestSuccess } from 'jest-runner'
import { setTestGlobals } from './jest-globals.ts'

export type TestResult = Parameters<OnTestSuccess>[1] & { cpuMs: number }

/** A file for a worker to run. */
export interface TestFile {
  path: string
  config: Config.ProjectConfig
  globalConfig: Config.GlobalConfig
}

/** How a file ended, its result or why there is none, and what memory the worker takes now. */
export type FileOutcome = { bytes: number } & (
  | { result: TestResult; isLeaking: boolean }
  | { failure: string }
)

const LEAK_MS = 5_000
const CHECK_MS = 10
const CHECKOUT = new URL('../../../../', import.meta.url).href
const GLOBALS = new URL('./jest-globals.ts', import.meta.url).href
const require = createRequire(import.meta.url)
const runner = require.resolve('jest-circus/runner')

// Opened before anything is counted: as a pipe, each is a resource from its first use on.
for (const stream of [process.stdout, process.stderr]) stream.write('')

let files = 0

// A test file gets modules of its own wherever tests keep state: its helpers, and jest's globals.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return { url: `${GLOBALS}?file=${files}`, shortCircuit: true }
    const resolved = next(specifier, context)
    return isTestCode(resolved.url) ? { ...resolved, url: `${resolved.url}?file=${files}` } : resolved
  },
})

function isTestCode(url: string): boolean {
  if (!url.startsWith(CHECKOUT) || url.includes('?')) return false
  return /(^|\/)(tests?|testing)\//.test(url.slice(CHECKOUT.length))
}

process.on('message', async (file: TestFile) => {
  files += 1
  process.send?.({ ...(await outcomeOf(file)), bytes: process.memoryUsage.rss() } satisfies FileOutcome)
})

async function outcomeOf(
  file: TestFile,
): Promise<{ result: TestResult; isLeaking: boolean } | { failure: string }> {
  const before = process.getActiveResourcesInfo()
  try {
    const result = await run(file)
    const left = await leftOpen(before)
    const isLeaking = left.length > 0
    // A test that failed may not have closed what it opened, and its own message says more.
    if (!isLeaking || result.numFailingTests > 0) return { result, isLeaking }
    return { failure: `The tests ended and left open: ${left.join(', ')}` }
  } catch (error) {
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

/** Runs one file with jest-circus, which is loaded anew: it knows one file only. */
async function run({ path, config, globalConfig }: TestFile): Promise<TestResult> {
  forgetLastFile()
  const start = Date.now()
  const before = process.cpuUsage()
  const runtime = {
    requireInternalModule: require,
    requireModule: require,
    setGlobalsForRuntime: (globals: object) => setTestGlobals({ ...globals, jest: jestObject(config) }),
    enterTestCode: () => undefined,
    leaveTestCode: () => undefined,
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (module: string) => import(pathToFileURL(module).href),
  }
  const result: Parameters<OnTestSuccess>[1] = await require(runner).default(
    globalConfig,
    config,
    { global: globalThis },
    runtime,
    path,
    undefined,
  )
  const end = Date.now()
  const { user, system } = process.cpuUsage(before)
  const perfStats = { ...result.perfStats, start, end, runtime: end - start, slow: end - start > 5_000 }
  const testResults = result.testResults.map((test) => ({ ...test, failureDetails: [] }))
  return { ...result, perfStats, testResults, skipped: false, cpuMs: (user + system) / 1_000 }
}

function forgetLastFile(): void {
  Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS'))
  for (const module of Object.keys(require.cache))
    if (module.includes('jest-circus')) delete require.cache[module]
}

function jestObject(config: TestFile['config']): object {
  const mocks = new ModuleMocker(globalThis)
  const timers = new ModernFakeTimers({ config, global: globalThis })
  return {
    fn: mocks.fn.bind(mocks),
    spyOn: mocks.spyOn.bind(mocks),
    restoreAllMocks: () => mocks.restoreAllMocks(),
    useFakeTimers: (options: Parameters<ModernFakeTimers['useFakeTimers']>[0]) =>
      timers.useFakeTimers(options),
    useRealTimers: () => timers.useRealTimers(),
    advanceTimersByTimeAsync: (ms: number) => timers.advanceTimersByTimeAsync(ms),
  }
}

/** Lists what keeps this process alive that did not before the file; it gets some time to close. */
async function leftOpen(before: string[]): Promise<string[]> {
  const deadline = performance.now() + LEAK_MS
  for (;;) {
    const left = process.getActiveResourcesInfo()
    for (const resource of before) if (left.includes(resource)) left.splice(left.indexOf(resource), 1)
    if (left.length === 0 || performance.now() > deadline) return left
    await pause(CHECK_MS, undefined, { ref: false })
  }
}
