import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitUntil } from '../wait-until.ts'

const SCRIPT = fileURLToPath(new URL('reaper.ts', import.meta.url))

/** In the environment of every process that is started here, and so of all its descendants. */
const OWNER = 'PARLEY_OWNER'
const KILL_MS = 5_000

interface OwnedProcess {
  pid: number
  command: string
}

/** The environment that marks a process, and whatever it starts, as belonging to `directory`. */
export function ownerMark(directory: string): Record<string, string> {
  return { [OWNER]: resolve(directory) }
}

/**
 * The live processes that were started for `directory` or a folder inside it, whatever became of their
 * parents. Goes by the mark in their environment, so a process that merely got a recycled id is never one.
 */
export function findOwned(directory: string): OwnedProcess[] {
  const root = resolve(directory)
  return listProcesses()
    .filter(({ pid, owner }) => pid !== process.pid && (owner === root || owner.startsWith(`${root}/`)))
    .map(({ pid, command }) => ({ pid, command }))
}

/** Stops them: SIGTERM, `graceMs` later SIGKILL. Returns once they are gone, at most 5 s after that. */
export async function stopOwned(directory: string, options: { graceMs: number }): Promise<void> {
  const gone = () => findOwned(directory).length === 0
  if (gone()) return
  if (options.graceMs > 0) {
    signalOwned(directory, 'SIGTERM')
    if (await waitUntil(gone, { timeoutMs: options.graceMs })) return
  }
  signalOwned(directory, 'SIGKILL')
  await waitUntil(gone, { timeoutMs: KILL_MS, intervalMs: 20 })
}

export function signalOwned(directory: string, signal: NodeJS.Signals): void {
  for (const { pid } of findOwned(directory)) {
    try {
      process.kill(pid, signal)
    } catch {
      // It ended by itself in the meantime.
    }
  }
}

function listProcesses(): (OwnedProcess & { owner: string })[] {
  return process.platform === 'linux' ? listFromProc() : listFromPs()
}

function listFromProc() {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((name) => {
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0')
      const owner = environment.find((entry) => entry.startsWith(`${OWNER}=`))?.slice(OWNER.length + 1)
      if (owner === undefined) return []
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      return [{ pid: Number(name), command, owner }]
    } catch {
      // Ended meanwhile, or somebody else's.
      return []
    }
  })
}

function listFromPs() {
  const lines = execFileSync('ps', ['axeww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  return lines.split('\n').flatMap((line) => {
    // The environment follows the command.
    const [, pid, text = ''] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? []
    const owner = new RegExp(` ${OWNER}=(.*?)(?= \\w+=|$)`).exec(text)?.[1]
    const [command = ''] = text.split(/ \w+=/)
    return pid === undefined || owner === undefined ? [] : [{ pid: Number(pid), command, owner }]
  })
}

/**
 * Starts a process that belongs to `directory`, apart from the terminal's signals, with its output in
 * `logFile` (the previous run's stays beside it as `.previous`).
 */
export function spawnOwned(options: {
  directory: string
  command: string
  args: string[]
  env: Record<string, string>
  logFile: string
}): ChildProcess {
  const { directory, command, args, env, logFile } = options
  if (existsSync(logFile)) renameSync(logFile, `${logFile}.previous`)
  const log = openSync(logFile, 'w', 0o600)
  try {
    return spawn(command, args, {
      cwd: directory,
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...process.env, ...env, ...ownerMark(directory) },
    })
  } finally {
    closeSync(log)
  }
}

interface Reaper {
  /** Lets it stop what is still there, and end. */
  close(): Promise<void>
}

/**
 * Starts a small process that waits for this one to end, and then stops all that was started for
 * `directory`: so nothing stays behind when this process is killed outright. With `remove` it deletes the
 * folder too.
 */
export function startReaper(options: { directory: string; remove: boolean }): Reaper {
  const args = [SCRIPT, options.directory, ...(options.remove ? ['remove'] : [])]
  const child = spawn(process.execPath, args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const exited = once(child, 'exit')
  child.unref()
  if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
  return {
    close: async () => {
      child.ref()
      child.stdin.end()
      await exited
    },
  }
}

/**
 * Calls `stop` on SIGINT, SIGTERM or SIGHUP, and when the process that started this one is gone (it holds
 * the other end of a channel). A Ctrl-C arrives more than once, from the terminal and from each parent.
 */
export function stopWithParent(stop: (reason: string) => void): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(signal))
  process.on('disconnect', () => stop('disconnect'))
  // The channel alone must not prevent this process from ending.
  process.channel?.unref()
}
