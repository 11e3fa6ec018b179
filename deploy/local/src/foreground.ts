import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { STATE_DIRECTORY } from './checkout.ts'
import { signalOwned, startReaper, stopOwned, stopWithParent } from './processes/owned.ts'
import { lockDirectory, runLocal } from './run-local.ts'
import { SetupError } from './setup-error.ts'
import { createStatusLine, type StatusLine } from './terminal/status-line.ts'

const LEFTOVER_GRACE_MS = 10_000
// One Ctrl-C arrives from the terminal and from every parent; only a later one is a second one.
const SAME_SIGNAL_MS = 1_000
const INTERRUPTED = 130

/**
 * Starts everything, runs until a signal, stops everything, and ends this process. `whenReady` runs once all is ready;
 * `together`, one process hosts all services; with `watch`, each process starts anew whenever its code changes, and that of `without` is somebody else's to start.
 */
export async function runInForeground({
  whenReady,
  ...options
}: {
  whenReady?: () => Promise<void>
  together?: boolean
  watch?: boolean
  without?: string | undefined
} = {}): Promise<never> {
  const terminal = createStatusLine(process.stdout)
  try {
    await start(terminal, { whenReady, ...options, signal: stopOnSignal(terminal) })
    process.exit(0)
  } catch (error) {
    terminal.end()
    console.error(describe(error))
    process.exit(1)
  }
}

/** Runs until `signal` aborts. */
async function start(
  terminal: StatusLine,
  options: {
    whenReady: (() => Promise<void>) | undefined
    together?: boolean
    watch?: boolean
    without?: string | undefined
    signal: AbortSignal
  },
): Promise<void> {
  mkdirSync(STATE_DIRECTORY, { recursive: true, mode: 0o700 })
  const unlock = lockDirectory(STATE_DIRECTORY)
  // A run that was killed left it behind.
  rmSync(join(STATE_DIRECTORY, 'run.json'), { force: true })
  await stopOwned(STATE_DIRECTORY, { graceMs: LEFTOVER_GRACE_MS })
  const reaper = startReaper({ directory: STATE_DIRECTORY, remove: false })
  try {
    await runLocal({ directory: STATE_DIRECTORY, terminal, ...options })
  } finally {
    await reaper.close()
    unlock()
  }
}

function stopOnSignal(terminal: StatusLine): AbortSignal {
  const stopping = new AbortController()
  let since = 0
  stopWithParent((reason) => {
    if (!stopping.signal.aborted) {
      since = performance.now()
      terminal.end()
      terminal.say('Stopping … (Ctrl-C again stops at once)')
      stopping.abort()
    } else if (reason === 'SIGINT' && performance.now() - since > SAME_SIGNAL_MS) {
      signalOwned(STATE_DIRECTORY, 'SIGKILL')
      process.exit(INTERRUPTED)
    }
  })
  return stopping.signal
}

function describe(error: unknown): string {
  if (error instanceof SetupError) return error.message
  const { code, path } = error as NodeJS.ErrnoException
  if (code !== undefined && path?.startsWith(STATE_DIRECTORY)) {
    return (
      `${path} can't be used (${code}): make it readable and writable for this user, or move ` +
      `${STATE_DIRECTORY} away to begin with an empty one.`
    )
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
