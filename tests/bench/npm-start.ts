import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isReady } from '@parley/local/demo/running-system'
import { waitUntil } from '@parley/local/wait-until'
import { machineSeconds } from './processes.ts'

const PORT = 18_441
const READY_MS = 900_000

/** How long a start took, and what the machine's processors worked meanwhile, for whom it may have been. */
export interface Start {
  seconds: number
  processorSeconds: number
}

export function clock(): () => Start {
  const [began, worked] = [performance.now(), machineSeconds()]
  return () => ({
    seconds: (performance.now() - began) / 1_000,
    processorSeconds: machineSeconds() - worked,
  })
}

/** From the command to a ready gateway, in a checkout. */
export async function npmStart(checkout: string, environment: Record<string, string> = {}): Promise<Start> {
  const taken = clock()
  const env = { ...process.env, PORT: String(PORT), ...environment }
  const child = spawn('npm', ['start', '--silent'], {
    cwd: checkout,
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

/** Copies what Git has of a checkout, as it is there now; returns the files' names. */
export function cloneFiles(from: string, to: string): string[] {
  const files = execFileSync('git', ['ls-files'], { cwd: from, encoding: 'utf8' }).trim().split('\n')
  for (const file of files.filter((name) => existsSync(join(from, name)))) {
    mkdirSync(dirname(join(to, file)), { recursive: true })
    cpSync(join(from, file), join(to, file))
  }
  return files
}
