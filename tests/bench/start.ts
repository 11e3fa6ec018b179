// How long `npm start` takes until it is ready, warm, beside its three servers alone on the same data.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CACHE_DIRECTORY, CHECKOUT } from '@parley/local/checkout'
import { isReady } from '@parley/local/demo/running-system'
import { startServers } from '@parley/local/servers/start-servers'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { machineSeconds } from './processes.ts'
import { compare, median, report } from './results.ts'

const size = z.object({
  RUNS: integer({ min: 1, max: 20 }).default(3).describe('How often each is measured, in turns'),
})
const PORT = 18_441
const READY_MS = 180_000
const MOST = 1.5

const { RUNS } = parseConfig(size, process.env)
const clone = mkdtempSync(join(tmpdir(), 'parley-start-'))
try {
  cloneCheckout()
  await npmStart()
  const whole: Start[] = []
  const alone: Start[] = []
  for (let turn = 0; turn < RUNS; turn++) {
    alone.push(await serversAlone())
    whole.push(await npmStart())
  }
  const seconds = (starts: Start[]) => starts.map((one) => one.seconds)
  const shown = (starts: Start[]) => `${median(seconds(starts)).toFixed(1)} s`
  const worked = (starts: Start[]) =>
    `${shown(starts)}, in which this machine's ${availableParallelism()} processors worked ${median(starts.map((one) => one.processorSeconds)).toFixed(1)} s`
  console.log(`npm start took ${worked(whole)}; its servers alone took ${worked(alone)}`)
  report({
    row: '`npm start` to ready, warm',
    parley: shown(whole),
    against: `its three servers alone ${shown(alone)}`,
    ...compare(seconds(whole), seconds(alone)),
    reach: { most: MOST },
  })
} finally {
  rmSync(clone, { recursive: true, force: true })
}

/** The checkout, with a state of its own but for what was downloaded. */
function cloneCheckout(): void {
  const files = execFileSync('git', ['ls-files'], { cwd: CHECKOUT, encoding: 'utf8' }).trim().split('\n')
  for (const file of files.filter((name) => existsSync(join(CHECKOUT, name)))) {
    mkdirSync(dirname(join(clone, file)), { recursive: true })
    cpSync(join(CHECKOUT, file), join(clone, file))
  }
  // A workspace has modules of its own where it needs another version.
  const folders = new Set(files.map((name) => join(dirname(name), 'node_modules')))
  for (const modules of [...folders].filter((name) => existsSync(join(CHECKOUT, name))))
    symlinkSync(join(CHECKOUT, modules), join(clone, modules))
  mkdirSync(join(clone, '.local'), { mode: 0o700 })
  if (existsSync(CACHE_DIRECTORY)) symlinkSync(CACHE_DIRECTORY, join(clone, '.local/cache'))
}

/** How long a start took, and what the machine's processors worked meanwhile, for whom it may have been. */
interface Start {
  seconds: number
  processorSeconds: number
}

function clock(): () => Start {
  const [began, worked] = [performance.now(), machineSeconds()]
  return () => ({
    seconds: (performance.now() - began) / 1_000,
    processorSeconds: machineSeconds() - worked,
  })
}

/** From the command to a ready gateway. */
async function npmStart(): Promise<Start> {
  const taken = clock()
  const env = { ...process.env, PORT: String(PORT) }
  const child = spawn('npm', ['start', '--silent'], {
    cwd: clone,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const gone = once(child, 'exit')
  try {
    const ready = () => isReady(`http://127.0.0.1:${PORT}`)
    if (!(await waitUntil(ready, { timeoutMs: READY_MS, intervalMs: 50 })))
      throw new Error('it did not become ready')
    return taken()
  } finally {
    child.kill('SIGTERM')
    await gone
  }
}

async function serversAlone(): Promise<Start> {
  const taken = clock()
  const servers = await startServers({ directory: join(clone, '.local/servers'), say: () => {} })
  const start = taken()
  await servers.stop()
  return start
}
