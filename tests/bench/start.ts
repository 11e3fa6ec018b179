// How long `npm start` takes until it is ready, warm, beside its three servers alone on the same data.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CACHE_DIRECTORY, CHECKOUT } from '@parley/local/checkout'
import { isReady } from '@parley/local/demo/running-system'
import { startServers } from '@parley/local/servers/start-servers'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
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
  const whole: number[] = []
  const alone: number[] = []
  for (let turn = 0; turn < RUNS; turn++) {
    alone.push(await serversAlone())
    whole.push(await npmStart())
  }
  const shown = (values: number[]) => `${median(values).toFixed(1)} s`
  console.log(`npm start ${shown(whole)}, its servers alone ${shown(alone)}`)
  report({
    row: '`npm start` to ready, warm',
    parley: shown(whole),
    against: `its three servers alone ${shown(alone)}`,
    ...compare(whole, alone),
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

/** Seconds from the command to a ready gateway. */
async function npmStart(): Promise<number> {
  const began = performance.now()
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
    return (performance.now() - began) / 1_000
  } finally {
    child.kill('SIGTERM')
    await gone
  }
}

async function serversAlone(): Promise<number> {
  const began = performance.now()
  const servers = await startServers({ directory: join(clone, '.local/servers'), say: () => {} })
  const seconds = (performance.now() - began) / 1_000
  await servers.stop()
  return seconds
}
