import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, renameSync } from 'node:fs'
import { ownerMark } from './owned.ts'

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
